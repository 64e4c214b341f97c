package machine

import "golang.org/x/sys/unix"

// KernelLog returns the kernel's log, as dmesg prints it; nothing if it may not be read.
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
