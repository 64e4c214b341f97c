package cli

import "golang.org/x/sys/unix"

// hidden turns off the echo of a terminal, early enough that pasted text is not shown either. The function it returns turns
// it on again. If fd is not a terminal, both do nothing.
func hidden(fd int) (show func()) {
	was, err := unix.IoctlGetTermios(fd, getTermios)
	if err != nil {
		return func() {}
	}
	silent := *was
	silent.Lflag &^= unix.ECHO
	_ = unix.IoctlSetTermios(fd, setTermios, &silent)
	return func() { _ = unix.IoctlSetTermios(fd, setTermios, was) }
}
