package cli

import "golang.org/x/sys/unix"

// hideInput turns off the echo of a terminal. Call it before the user is asked: otherwise text that is pasted at once
// may be shown. The function it returns turns the echo on again. If fd is not a terminal, both do nothing.
func hideInput(fd int) (show func()) {
	was, err := unix.IoctlGetTermios(fd, getTermios)
	if err != nil {
		return func() {}
	}
	silent := *was
	silent.Lflag &^= unix.ECHO
	_ = unix.IoctlSetTermios(fd, setTermios, &silent)
	return func() { _ = unix.IoctlSetTermios(fd, setTermios, was) }
}
