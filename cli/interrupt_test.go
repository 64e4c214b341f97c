package cli

import (
	"io"
	"os"
	"strings"
	"testing"
)

// interrupted runs a command and sends it SIGTERM after a step. The command goes on when it has printed that it was
// interrupted. interrupted returns what the command printed.
func (m *machine) interrupted(step, stdin string, args ...string) (stdout, stderr string, err error) {
	m.t.Helper()
	c := m.cmd("", args...)
	c.Env = append(c.Env, signalVariable+"="+step)
	held, release, err := os.Pipe()
	if err != nil {
		m.t.Fatal(err)
	}
	defer held.Close()
	defer release.Close()
	var out strings.Builder
	c.Stdin, c.Stdout, c.ExtraFiles = strings.NewReader(stdin), &out, []*os.File{held}
	errs, err := c.StderrPipe()
	if err != nil {
		m.t.Fatal(err)
	}
	if err := c.Start(); err != nil {
		m.t.Fatal(err)
	}
	var said strings.Builder
	for buffer := make([]byte, 4096); ; {
		n, err := errs.Read(buffer)
		said.Write(buffer[:n])
		if strings.Contains(said.String(), "interrupt") {
			release.Close()
		}
		if err == io.EOF {
			break
		}
		if err != nil {
			m.t.Fatal(err)
		}
	}
	err = c.Wait() // then out is complete
	return out.String(), said.String(), err
}

// If an interruption comes too late for an undo, the change stays. The command says so, and does not say that it undoes
// anything.
func TestInterruptedTooLate(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	m.makeKeyed()
	out, stderr, err := m.interrupted("passphrase", "four words to remember\n", "key", "add-passphrase", "--stdin")
	if err != nil || !strings.Contains(out, "the passphrase opens the backups") || !strings.Contains(stderr, "nothing was undone") || strings.Contains(stderr, "undoing") {
		t.Errorf("%v\n%s%s", err, out, stderr)
	}
	if status := m.must("key", "status"); !strings.Contains(status, "passphrase:  set") {
		t.Error(status)
	}
}

// A new key is removed if the command is interrupted before the backups are encrypted to it.
func TestInterruptedNewKeyIsUndone(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	m.makeKeyed()
	set := m.cmd("", "key", "add-passphrase", "--stdin")
	set.Stdin = strings.NewReader("four words to remember\n")
	if out, err := set.CombinedOutput(); err != nil {
		t.Fatalf("%v %s", err, out)
	}
	if err := os.Remove(m.dir + "/home/keys/main.age-identity"); err != nil {
		t.Fatal(err)
	}
	before, err := os.ReadFile(m.dir + "/home/keys/main.json")
	if err != nil {
		t.Fatal(err)
	}
	out, stderr, err := m.interrupted("key", "four words to remember\n", "key", "make", "--stdin")
	if err == nil || !strings.Contains(stderr, "undone: make the key of its backups") || strings.Contains(stderr, "nothing was undone") {
		t.Errorf("%v\n%s%s", err, out, stderr)
	}
	if after, err := os.ReadFile(m.dir + "/home/keys/main.json"); err != nil || string(after) != string(before) {
		t.Errorf("the record of the key changed: %v %s", err, after)
	}
}
