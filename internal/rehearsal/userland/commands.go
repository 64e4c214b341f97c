package userland

import (
	"bufio"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"os/signal"
	"slices"
	"strings"
	"syscall"
	"time"

	"hermes-box/guest/machine"
	"hermes-box/internal/rehearsal/simulate"
)

// asRoot is the variable that sudo sets for its command. It gives no rights on this host.
const asRoot = "HERMES_BOX_GUEST_SUDO"

// sudo runs a command, with the same rights.
func (m Machine) sudo(args []string) int {
	for len(args) > 0 && strings.HasPrefix(args[0], "-") {
		end := args[0] == "--"
		if args = args[1:]; end {
			break
		}
	}
	if len(args) == 0 {
		fmt.Fprintln(os.Stderr, "usage: sudo [-n] COMMAND [ARG...]")
		return 1
	}
	path, err := exec.LookPath(args[0])
	if err != nil {
		fmt.Fprintf(os.Stderr, "sudo: %s: command not found\n", args[0])
		return 127
	}
	err = syscall.Exec(path, args, append(os.Environ(), asRoot+"=1"))
	fmt.Fprintf(os.Stderr, "sudo: %s: %v\n", args[0], err)
	return 126
}

// systemctl starts, stops and restarts units of the machine, and prints their state. It ignores other verbs and all
// flags.
func (m Machine) systemctl(args []string) int {
	args = slices.DeleteFunc(slices.Clone(args), func(a string) bool { return strings.HasPrefix(a, "-") })
	if len(args) == 0 {
		fmt.Fprintln(os.Stderr, "systemctl: no verb")
		return 1
	}
	ctx, sys := context.Background(), m.open().Machine
	status := 0
	for _, unit := range args[1:] {
		if !strings.Contains(unit, ".") {
			unit += ".service"
		}
		var err error
		switch args[0] {
		case "start":
			err = sys.StartUnit(ctx, unit)
		case "stop":
			err = sys.StopUnit(ctx, unit)
		case "restart":
			err = sys.RestartUnit(ctx, unit)
		case "status", "is-active", "show":
			var all map[string]machine.Unit
			if all, err = sys.Units(ctx, unit); err == nil {
				fmt.Println(all[unit].Active)
				if all[unit].Active != "active" {
					status = 3
				}
			}
		}
		if err != nil {
			fmt.Fprintln(os.Stderr, "systemctl:", err)
			status = 1
		}
	}
	return status
}

// journalctl prints the log of the machine's units.
func (m Machine) journalctl(args []string) int {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, syscall.SIGINT, syscall.SIGHUP)
	defer stop()
	_, err := simulate.Open(m.Root).Run(ctx, machine.Cmd{Path: "journalctl", Args: args, Stdout: os.Stdout})
	if err != nil && ctx.Err() == nil {
		fmt.Fprintln(os.Stderr, "journalctl:", err)
		return 1
	}
	return 0
}

// getent resolves names with the resolver of the host, as Lima's guests do.
func getent(m Machine, args []string) int {
	if len(args) != 2 || !slices.Contains([]string{"hosts", "ahosts"}, args[0]) {
		return 2
	}
	if m.fault("dns-dead") {
		return 2
	}
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	addresses, err := net.DefaultResolver.LookupHost(ctx, args[1])
	if err != nil {
		return 2
	}
	for _, a := range addresses {
		fmt.Printf("%-15s %s\n", a, args[1])
	}
	return 0
}

// findmnt finds nothing, since the machine has no mounts of directories of the host.
func findmnt(Machine, []string) int { return 1 }

// sha256sum prints digests of files, or with -c checks the lines on standard input. macOS has no such program.
func sha256sum(_ Machine, args []string) int {
	check := false
	var files []string
	for _, a := range args {
		switch {
		case a == "-c" || a == "--check":
			check = true
		case !strings.HasPrefix(a, "-") || a == "-":
			files = append(files, a)
		}
	}
	if check {
		for in := bufio.NewScanner(os.Stdin); in.Scan(); {
			want, file, _ := strings.Cut(in.Text(), "  ")
			if got, err := digest(file); err != nil || got != want {
				fmt.Fprintf(os.Stderr, "sha256sum: %s: FAILED\n", file)
				return 1
			}
		}
		return 0
	}
	if len(files) == 0 {
		files = []string{"-"}
	}
	for _, file := range files {
		sum, err := digest(file)
		if err != nil {
			fmt.Fprintln(os.Stderr, "sha256sum:", err)
			return 1
		}
		fmt.Printf("%s  %s\n", sum, file)
	}
	return 0
}

func digest(file string) (string, error) {
	in := os.Stdin
	if file != "-" {
		f, err := os.Open(file)
		if err != nil {
			return "", err
		}
		defer f.Close()
		in = f
	}
	h := sha256.New()
	if _, err := io.Copy(h, in); err != nil {
		return "", err
	}
	return hex.EncodeToString(h.Sum(nil)), nil
}
