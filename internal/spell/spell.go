// Package spell suggests the correct word for a misspelt one, and spells counts of things.
package spell

import "strings"

// Nearest returns the known word that is most like a misspelt one, or "". A word of five letters or more may differ by
// two edits, a shorter one by one edit; a word of three letters or more also matches a known word that begins with it.
// Case is ignored, and so is the difference between dashes and underscores.
func Nearest(misspelt string, known []string) string {
	const longest = 40
	word := normalized(misspelt)
	if word == "" || len(word) > longest {
		return ""
	}
	best, least := "", 3
	for _, k := range known {
		d := edits(word, normalized(k))
		if len(word) > 2 && strings.HasPrefix(normalized(k), word) {
			d = min(d, 1)
		}
		if d < least && (d < 2 || len(word) > 4) {
			best, least = k, d
		}
	}
	return best
}

// normalized returns a word in lower case, with underscores instead of dashes.
func normalized(word string) string { return strings.ReplaceAll(strings.ToLower(word), "-", "_") }

// edits returns the least number of edits that change a into b. An edit inserts, removes or replaces a letter, or swaps
// two adjacent ones.
func edits(a, b string) int {
	var before, last []int
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		before, last, row = last, row, make([]int, len(b)+1)
		row[0] = i + 1
		for j := range len(b) {
			replace := last[j]
			if a[i] != b[j] {
				replace++
			}
			row[j+1] = min(replace, last[j+1]+1, row[j]+1)
			if i > 0 && j > 0 && a[i] == b[j-1] && a[i-1] == b[j] {
				row[j+1] = min(row[j+1], before[j-1]+1)
			}
		}
	}
	return row[len(b)]
}
