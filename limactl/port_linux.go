package limactl

import (
	"bufio"
	"encoding/hex"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
)

// Listeners returns the sockets that listen on a TCP port, from /proc.
func Listeners(port int) (all []Listener) {
	inodes := map[string]int{} // index into all, by inode
	for _, table := range []string{"/proc/net/tcp", "/proc/net/tcp6"} {
		for _, s := range listening(table, port) {
			inodes[s.inode] = len(all)
			all = append(all, s.Listener)
		}
	}
	if len(all) > 0 {
		findOwners(all, inodes)
	}
	return all
}

type socket struct {
	Listener
	inode string
}

// listening returns the sockets that listen on port, from a table of the kernel.
func listening(table string, port int) (all []socket) {
	f, err := os.Open(table)
	if err != nil {
		return nil
	}
	defer f.Close()
	const listen = "0A"
	for lines := bufio.NewScanner(f); lines.Scan(); {
		fields := strings.Fields(lines.Text())
		if len(fields) < 10 || fields[3] != listen {
			continue
		}
		addr, number, _ := strings.Cut(fields[1], ":")
		if n, err := strconv.ParseUint(number, 16, 16); err != nil || int(n) != port {
			continue
		}
		s := socket{Listener{Addr: parseAddr(addr), UID: -1}, fields[9]}
		if uid, err := strconv.Atoi(fields[7]); err == nil {
			s.UID = uid
		}
		all = append(all, s)
	}
	return all
}

// parseAddr parses an address in the kernel's tables: 32-bit words in the byte order of this machine, which is little
// endian.
func parseAddr(text string) netip.Addr {
	data, err := hex.DecodeString(text)
	if err != nil || len(data)%4 != 0 {
		return netip.Addr{}
	}
	for i := 0; i < len(data); i += 4 {
		slices.Reverse(data[i : i+4])
	}
	addr, _ := netip.AddrFromSlice(data)
	return addr.Unmap()
}

// owners caches the process that has a socket open, by the socket's inode; 0 if this user cannot see the process.
// Finding it takes long, since the open files of all processes have to be read. An inode is not reused while its
// socket is open.
var owners struct {
	sync.Mutex
	pids map[string]int
}

// findOwners sets the process of each listener, if this user can see it.
func findOwners(all []Listener, inodes map[string]int) {
	owners.Lock()
	defer owners.Unlock()
	missing := false
	for inode, i := range inodes {
		switch pid, known := owners.pids[inode]; {
		case known && pid != 0 && holds(pid, inode):
			all[i].PID, all[i].Command = pid, commandOf(pid)
		case !known || pid != 0:
			missing = true
		}
	}
	if !missing {
		return
	}
	if owners.pids == nil || len(owners.pids) > 100 {
		owners.pids = map[string]int{}
	}
	for inode := range inodes {
		owners.pids[inode] = 0
	}
	eachSocket(func(pid int, inode string) (more bool) {
		if i, wanted := inodes[inode]; wanted && owners.pids[inode] == 0 {
			owners.pids[inode] = pid
			all[i].PID, all[i].Command = pid, commandOf(pid)
		}
		return slices.ContainsFunc(all, func(l Listener) bool { return l.PID == 0 })
	})
}

// eachSocket calls visit with the open sockets of all processes that this user can see, the highest pids first, until
// visit returns false.
func eachSocket(visit func(pid int, inode string) (more bool)) {
	entries, _ := os.ReadDir("/proc")
	var pids []int
	for _, e := range entries {
		if pid, err := strconv.Atoi(e.Name()); err == nil {
			pids = append(pids, pid)
		}
	}
	slices.Sort(pids)
	for _, pid := range slices.Backward(pids) {
		dir := filepath.Join("/proc", strconv.Itoa(pid), "fd")
		files, _ := os.ReadDir(dir)
		for _, f := range files {
			if inode := inodeOf(filepath.Join(dir, f.Name())); inode != "" && !visit(pid, inode) {
				return
			}
		}
	}
}

// inodeOf returns the inode of the socket that an entry of /proc/PID/fd points to; "" if it is not a socket.
func inodeOf(link string) string {
	target, err := os.Readlink(link)
	if err != nil || !strings.HasPrefix(target, "socket:[") {
		return ""
	}
	return strings.TrimSuffix(strings.TrimPrefix(target, "socket:["), "]")
}

// holds reports whether a process still has a socket open.
func holds(pid int, inode string) bool {
	links, _ := filepath.Glob("/proc/" + strconv.Itoa(pid) + "/fd/*")
	return slices.ContainsFunc(links, func(link string) bool { return inodeOf(link) == inode })
}
