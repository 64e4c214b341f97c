package cli

import "golang.org/x/sys/unix"

// hidden stops a terminal from showing what is typed, before anything asks for it: what is pasted at once is not
// shown either. The function it returns shows it again. On what is no terminal both do nothing.
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
