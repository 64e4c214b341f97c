package ssh

import (
	"context"
	"errors"
	"io"
	"path"
	"slices"
	"strings"

	"al.essio.dev/pkg/shellescape"

	"hermes-box/guest/protocol"
)

// Exec is one command to run in the guest. Stdin, Stdout and Stderr may be nil.
type Exec struct {
	Args   []string // the program, looked up in the remote PATH, and its arguments: any bytes but NUL
	Name   string   // name of the command in the log; empty: the program's. Arguments may be secret and are not logged
	Env    []string // KEY=value, added to the remote environment
	Dir    string   // remote; empty: the user's home
	Stdin  io.Reader
	Stdout io.Writer
	Stderr io.Writer
	TTY    bool // give it a terminal: Stdin must be one, and all output is on Stdout
}

// maxRemote is the length of the longest argument that Linux accepts. A remote command is one argument.
const maxRemote = 128<<10 - 1

// Exec runs one command in the guest over ssh and waits for its end. A status other than 0 is an *ExitError, exact from
// 1 to 255. A connection that fails is a *TransportError, even though ssh then exits with 255, as a command may.
//
// Arguments arrive unchanged. Stdout gets the output of the command, and none of a login script. If the caller dies
// or ctx ends, the remote command gets SIGHUP, and SIGKILL seconds later.
//
// The helper in the box runs the command. If there is none, or one of another version, a shell script does.
func (c *Client) Exec(ctx context.Context, instance string, e Exec) error {
	if err := e.check(); err != nil {
		return err
	}
	if e.TTY {
		return c.execTTY(ctx, instance, e)
	}
	if len(e.script("", remoteScript)) > maxScript && c.Helper == "" {
		return tooLong
	}
	k, err := c.connect(ctx, instance, e.name(), c.execRemote(e), nil, e.Stderr)
	if c.Helper != "" && noChannel(k, err) {
		if k != nil {
			k.abort()
		}
		script := *c
		script.Helper = ""
		k, err = script.connect(ctx, instance, e.name(), script.execRemote(e), nil, e.Stderr)
	}
	if err != nil {
		return err
	}
	if k.version == 0 {
		return k.runScript(e)
	}
	data, err := encode(protocol.VerbExec, e.command())
	if err != nil {
		return err
	}
	_, err = k.ask(data, streams{e.Stdin, e.Stdout, e.Stderr}, nil)
	return err
}

// noChannel reports whether the helper in the box has another version, is too old for channels, or cannot be run.
func noChannel(k *conn, err error) bool {
	if err == nil {
		return k.version != 0 && k.version != protocol.Version
	}
	var lost *TransportError
	return errors.As(err, &lost) && !lost.Started && slices.Contains([]int{2, 126, 127}, lost.status)
}

// check returns an error for a command that cannot be run.
func (e Exec) check() error {
	if len(e.Args) == 0 {
		return &Error{message: "no command to run", code: "invalid_input"}
	}
	for _, w := range slices.Concat(e.Args, e.Env, []string{e.Dir}) {
		if strings.ContainsRune(w, 0) {
			return &Error{message: "a command's arguments cannot hold a NUL byte", code: "invalid_input"}
		}
	}
	return nil
}

// name returns the name of the command in the log.
func (e Exec) name() string {
	if e.Name != "" {
		return e.Name
	}
	return path.Base(e.Args[0])
}

// command returns the request for the helper.
func (e Exec) command() protocol.Command {
	bytes := func(texts []string) (all [][]byte) {
		for _, t := range texts {
			all = append(all, []byte(t))
		}
		return all
	}
	return protocol.Command{Args: bytes(e.Args), Env: bytes(e.Env), Dir: []byte(e.Dir)}
}

// execRemote returns the script with which the remote shell runs a command: with the helper if it exists, otherwise
// without. The shell decides, which saves a round trip. A command that is too long for the script needs the helper.
func (c *Client) execRemote(e Exec) remote {
	return func(mark string) string {
		script := e.script(mark, remoteScript)
		if c.Helper == "" {
			return script
		}
		helper := shellescape.Quote(c.Helper)
		channel := "exec " + helper + " " + protocol.Channel + " " + shellescape.Quote(mark)
		text := "if [ -x " + helper + " ]; then " + channel + "; fi; " + script
		if len(text) > maxRemote {
			return channel
		}
		return text
	}
}
