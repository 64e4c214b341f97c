package cli

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strconv"
	"syscall"

	"hermes-box/guest/protocol/frame"
)

// The values of WHAT, an argument of cutStream: what it does to the stream of a backup.
const (
	cutCount = "count" // nothing, but writes the number of bytes of the stream to a file
	cutKill  = "kill"  // kills the host's program with kill -9
	cutLose  = "lose"  // loses the connection: the status is 255
	cutHang  = "hang"  // passes nothing more, and does not end
	cutBoot  = "boot"  // reboots the box
	cutShort = "short" // leaves out the rest of the stream; the result of the guest arrives
)

// cutStream runs as the ssh of a test's machine, with the command line: cut-stream WHAT BYTES SSH ARG... It runs the
// real ssh, SSH ARG..., and does WHAT to the stream of a backup after BYTES bytes of it. It does not change other streams.
// For cutCount, BYTES is the name of the file to write.
func cutStream() {
	what, args := os.Args[1], os.Args[3:]
	cmd := exec.Command(args[0], args[1:]...)
	cmd.Stdin, cmd.Stderr = os.Stdin, os.Stderr
	cmd.SysProcAttr = dieWithUs()
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		panic(err)
	}
	if err := passFrames(out, what, os.Args[2]); err != nil && !errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) {
		fmt.Fprintln(os.Stderr, err)
	}
	if err := cmd.Wait(); err != nil {
		os.Exit(max(cmd.ProcessState.ExitCode(), 1))
	}
}

// passFrames copies to stdout what a helper sends: a mark, the version of its protocol, and frames. limit is a number
// of bytes or, for cutCount, the name of the file to write.
func passFrames(in io.Reader, what, limit string) error {
	most, _ := strconv.Atoi(limit)
	r := bufio.NewReader(in)
	opening, err := r.ReadBytes(']') // the end of the mark; a helper then sends "*VERSION;"
	if next, _ := r.Peek(1); err == nil && string(next) == "*" {
		var version []byte
		version, err = r.ReadBytes(';')
		opening = append(opening, version...)
	} else if err == nil { // there is no helper yet: a script answers
		_, err = io.Copy(os.Stdout, io.MultiReader(bytes.NewReader(opening), r))
		return errors.Join(err, io.EOF)
	}
	if _, werr := os.Stdout.Write(opening); err != nil || werr != nil {
		return errors.Join(err, werr)
	}
	frames, out, passed := frame.NewReader(r), frame.NewWriter(os.Stdout), 0
	backup := false // whether stdout is a backup, which begins with the header of a tree
	for {
		kind, payload, err := frames.Next()
		if err != nil {
			return err
		}
		if kind == frame.Stdout && passed == 0 {
			backup = bytes.Contains(payload, []byte(`"arch":`))
		}
		if !backup {
			if err := out.Write(kind, payload); err != nil {
				return err
			}
			continue
		}
		if kind == frame.Stdout && what == cutCount {
			passed += len(payload)
			if err := os.WriteFile(limit, []byte(strconv.Itoa(passed)), 0o600); err != nil {
				return err
			}
		} else if kind == frame.Stdout {
			keep := min(len(payload), most-passed)
			if passed += len(payload); passed > most {
				if err := out.Write(kind, payload[:max(keep, 0)]); err != nil {
					return err
				}
				switch what {
				case cutKill:
					return syscall.Kill(os.Getppid(), syscall.SIGKILL)
				case cutLose:
					os.Exit(255)
				case cutHang:
					select {} // until it is killed
				case cutBoot: // the real ssh then ends
					return rebootBeside(os.Args[3:])
				}
				continue
			}
		}
		if err := out.Write(kind, payload); err != nil {
			return err
		}
	}
}
