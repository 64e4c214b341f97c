package bootstrap

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// The markers of a managed block: the part that hermes-box owns in a file that Lima, cloud-init and people write to as
// well.
const (
	blockBegin = "# >>> hermes-box: this block is written by hermes-box"
	blockEnd   = "# <<< hermes-box"
)

// limaBegin is the first line of Lima's block in /etc/environment.
const limaBegin = "#LIMA-START"

// manage sets the block of a file to body. It changes no other line of the file.
func (env Env) manage(path, body string) (changed bool, err error) {
	text, err := env.withBlock(path, body)
	if err != nil {
		return false, err
	}
	return env.install(path, text, 0o644)
}

// withBlock returns the content of a file with its block set to body.
func (env Env) withBlock(path, body string) ([]byte, error) {
	old, err := os.ReadFile(env.Path(path))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	text, err := setBlock(string(old), body)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return []byte(text), nil
}

// setBlock replaces the block in text, or adds it if there is none: before Lima's block or, without that, at the end.
// body consists of whole lines.
//
// At each boot Lima moves its own block to the end. If that changes the file, Lima ends all sessions and services of the
// user, who may just have logged in.
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
			return "", errors.New("the markers of the hermes-box block are out of order; remove them and the lines between them")
		case at == ahead:
			before.WriteString(line)
		case at == behind:
			after.WriteString(line)
		}
	}
	if at == inside {
		return "", errors.New("the hermes-box block has no end; remove it")
	}
	head, tail := before.String(), after.String()
	if i := strings.Index("\n"+text, "\n"+limaBegin); at == ahead && i >= 0 {
		head, tail = text[:i], text[i:]
	}
	if head != "" && !strings.HasSuffix(head, "\n") {
		head += "\n"
	}
	return head + blockBegin + "\n" + body + blockEnd + "\n" + tail, nil
}

// same reports whether a file has this content and mode.
func (env Env) same(path string, data []byte, mode fs.FileMode) bool {
	info, err := os.Lstat(env.Path(path))
	if err != nil || info.Mode() != mode {
		return false
	}
	old, err := os.ReadFile(env.Path(path))
	return err == nil && bytes.Equal(old, data)
}

// install writes a file unless its content and mode are right already.
func (env Env) install(path string, data []byte, mode fs.FileMode) (changed bool, err error) {
	if env.same(path, data, mode) {
		return false, nil
	}
	full := env.Path(path)
	if err := os.MkdirAll(filepath.Dir(full), 0o755); err != nil {
		return false, err
	}
	return true, env.Write(full, data, mode)
}
