package backup

import (
	"path"

	"hermes-box/guest/protocol/tree"
	"hermes-box/internal/spell"
	"hermes-box/ops/fault"
)

// notThere returns the error for a path that the backup does not have. It names the path that was probably meant, if
// there is one.
func (b *Bundle) notThere(given []byte) error {
	meant := ""
	if near := b.near(string(given)); near != "" {
		meant = "; did you mean " + near + "?"
	}
	return fault.New(fault.NotFound, "%q is not in the backup %s%s", given, b.ID, meant).Hint("hermes-box backup show %s", b.ID)
}

// near returns a path with a similar name in the same directory, or the only path with the same name in another one. It
// returns "" if there is none, or if the manifest cannot be read.
func (b *Bundle) near(given string) string {
	dir, name := path.Split(given)
	var siblings, elsewhere []string
	err := b.Each(func(e *tree.Entry) error {
		switch at, base := path.Split(string(e.Path)); {
		case at == dir:
			siblings = append(siblings, base)
		case base == name:
			elsewhere = append(elsewhere, string(e.Path))
		}
		return nil
	})
	if meant := spell.Nearest(name, siblings); err == nil && meant != "" {
		return dir + meant
	}
	if err == nil && len(elsewhere) == 1 {
		return elsewhere[0]
	}
	return ""
}
