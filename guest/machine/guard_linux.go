package machine

import (
	"bufio"
	"errors"
	"io"
	"os/exec"
	"strings"
	"syscall"
	"time"
)

// guard is another process of the helper. It undoes a freeze or a snapshot when its stdin ends: when stop is called, or
// when this process ends for any reason. It also undoes a freeze when the limit of the freeze has passed.
type guard struct {
	cmd *exec.Cmd
	in  io.Closer
}

// Guard runs this process as the guard that args name, until in ends or the limit of a freeze has passed. It returns
// false if args name none.
func Guard(args []string, in io.Reader, out io.Writer) (bool, error) {
	switch {
	case len(args) == 3 && args[0] == thawArg:
		limit, err := time.ParseDuration(args[2])
		if err != nil {
			return true, err
		}
		return true, keepThawable(args[1], limit, in, out)
	case len(args) == 2 && args[0] == snapshotArg:
		return true, keepSnapshot(args[1], in, out)
	}
	return false, nil
}

// Arguments of a guard.
const (
	thawArg     = "thaw"     // PATH LIMIT
	snapshotArg = "snapshot" // PATH
)

// startGuard starts the helper with these arguments and returns the first line that it prints.
func startGuard(args ...string) (*guard, string, error) {
	cmd := exec.Command("/proc/self/exe", args...)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	in, err1 := cmd.StdinPipe()
	out, err2 := cmd.StdoutPipe()
	if err := errors.Join(err1, err2, cmd.Start()); err != nil {
		return nil, "", err
	}
	g := &guard{cmd, in}
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		return nil, "", errors.Join(err, g.stop())
	}
	return g, strings.TrimSuffix(line, "\n"), nil
}

// stop makes the guard undo the freeze or the snapshot, and waits until the guard has ended.
func (g *guard) stop() error {
	g.in.Close()
	return g.cmd.Wait()
}
