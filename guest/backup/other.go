//go:build !linux

package backup

import (
	"context"
	"errors"
	"io"

	"hermes-box/guest/protocol/tree"
)

// Unpacked is the result of Unpack.
type Unpacked struct {
	Summary tree.Summary
	Lost    []tree.Problem
}

var errLinux = errors.New("backups need Linux; this machine is simulated on another system")

// Send returns an error, because it needs system calls of Linux.
func (s Source) Send(context.Context, io.Writer) (tree.Summary, error) {
	return tree.Summary{}, errLinux
}

// Unpack returns an error, because it needs system calls of Linux.
func Unpack(context.Context, string, io.Reader) (Unpacked, error) { return Unpacked{}, errLinux }
