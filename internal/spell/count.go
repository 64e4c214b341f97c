package spell

import "fmt"

// Count formats a number of things, named by a word whose plural ends in s: "1 file", "2 files".
func Count[N int | int64](n N, what string) string {
	if n != 1 {
		what += "s"
	}
	return fmt.Sprintf("%d %s", n, what)
}
