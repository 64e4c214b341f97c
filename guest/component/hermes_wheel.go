package component

import (
	"fmt"
	"regexp"
	"sync"
)

// wheelName matches the file name of a wheel: name, version, an optional build, and three tags.
var wheelName = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^([A-Za-z0-9][A-Za-z0-9._]*)-([A-Za-z0-9][A-Za-z0-9._+!]*)(-[0-9][A-Za-z0-9_.]*)?(-[A-Za-z0-9_.]+){3}\.whl$`)
})

// wheelPin returns the requirement "name==version" for a wheel.
func wheelPin(file string) (string, error) {
	m := wheelName().FindStringSubmatch(file)
	if m == nil {
		return "", fmt.Errorf("%s is not the file name of a wheel", file)
	}
	return m[1] + "==" + m[2], nil
}
