package guest

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// A managed block is our part of a file that others write to as well: Lima and cloud-init keep blocks of their
// own in the same files, and people edit them.
const (
	blockBegin = "# >>> hermes-box: this block is written by hermes-box"
	blockEnd   = "# <<< hermes-box"
)

// manage makes the block of the file hold exactly body. Every other byte of the file stays.
func (g *Guest) manage(path, body string) (changed bool, err error) {
	old, err := os.ReadFile(g.Path(path))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return false, err
	}
	text, err := setBlock(string(old), body)
	if err != nil {
		return false, fmt.Errorf("%s: %w", path, err)
	}
	return g.install(path, []byte(text), 0o644)
}

// setBlock replaces the block in text, or appends it where there is none. body is whole lines.
func setBlock(text, body string) (string, error) {
	var before, after strings.Builder
	const (
		ahead = iota
		inside
		behind
	)
	at := ahead
	for line := range strings.Lines(text) {
		switch trimmed := strings.TrimRight(line, "\r\n"); {
		case trimmed == blockBegin && at == ahead:
			at = inside
		case trimmed == blockEnd && at == inside:
			at = behind
		case trimmed == blockBegin || trimmed == blockEnd:
			return "", errors.New("the markers of the hermes-box block are out of order; remove them and what is between")
		case at == ahead:
			before.WriteString(line)
		case at == behind:
			after.WriteString(line)
		}
	}
	if at == inside {
		return "", errors.New("the hermes-box block has no end; remove it")
	}
	head := before.String()
	if head != "" && !strings.HasSuffix(head, "\n") {
		head += "\n"
	}
	return head + blockBegin + "\n" + body + blockEnd + "\n" + after.String(), nil
}

// same tells whether a file of the machine has exactly this content and mode.
func (g *Guest) same(path string, data []byte, mode fs.FileMode) bool {
	info, err := os.Lstat(g.Path(path))
	if err != nil || info.Mode() != mode {
		return false
	}
	old, err := os.ReadFile(g.Path(path))
	return err == nil && bytes.Equal(old, data)
}

// install writes a file of the machine unless it is the same already.
func (g *Guest) install(path string, data []byte, mode fs.FileMode) (changed bool, err error) {
	if g.same(path, data, mode) {
		return false, nil
	}
	full := g.Path(path)
	if err := os.MkdirAll(filepath.Dir(full), 0o755); err != nil {
		return false, err
	}
	return true, g.put(full, data, mode)
}
