package child

import (
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"syscall"
)

// ResourceError is the error for a program that could not be run because a resource of this machine, or a limit of
// this process, is exhausted.
type ResourceError struct {
	Program string
	Err     error
}

func (e *ResourceError) Error() string {
	return fmt.Sprintf("this machine cannot run %s: %v", filepath.Base(e.Program), e.Err)
}

// Unwrap returns the cause.
func (e *ResourceError) Unwrap() error { return e.Err }

// Code returns the product's error code.
func (e *ResourceError) Code() string { return "preflight_failed" }

// Recovery returns the hint.
func (e *ResourceError) Recovery() string {
	switch {
	case errors.Is(e.Err, syscall.EMFILE):
		return "ulimit -n 1024"
	case errors.Is(e.Err, syscall.EAGAIN):
		return "ulimit -u; ps -u \"$(id -un)\" | wc -l"
	}
	return "free -h; ulimit -a"
}

// HostError returns a ResourceError if err says that a resource or a limit is exhausted, or if the program failed and
// its stderr says that too many files are open. Otherwise it returns err.
func HostError(program string, err error, stderr string) error {
	if err == nil {
		return nil
	}
	stderr = strings.ToLower(stderr)
	for _, limit := range []error{syscall.ENFILE, syscall.EMFILE, syscall.EAGAIN, syscall.ENOMEM} {
		if errors.Is(err, limit) {
			return &ResourceError{Program: program, Err: limit}
		}
	}
	if strings.Contains(stderr, syscall.EMFILE.Error()) {
		return &ResourceError{Program: program, Err: syscall.EMFILE}
	}
	return err
}
