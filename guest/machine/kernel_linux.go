package machine

import "golang.org/x/sys/unix"

// KernelLog returns the kernel's log; empty if it cannot be read. A line begins with its level in angle brackets and
// the seconds since the boot in square brackets.
func (m *Machine) KernelLog() string {
	const readAll, bufferSize = 3, 10 // actions of syslog(2)
	size, err := unix.Klogctl(bufferSize, nil)
	if err != nil || size <= 0 {
		return ""
	}
	buf := make([]byte, size)
	n, err := unix.Klogctl(readAll, buf)
	if err != nil {
		return ""
	}
	return string(buf[:n])
}
