// Command screenshots makes the pictures of the README: it runs the real program with its demo in a terminal emulator,
// types keys, waits for their effect, and draws the screen cell by cell.
package main

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"time"

	"hermes-box/internal/ttytest"
)

func main() {
	program := flag.String("program", "./hermes-box", "the program to take pictures of")
	fonts := flag.String("fonts", "/usr/share/fonts/truetype/dejavu", "directory with DejaVuSansMono.ttf and its bold face")
	out := flag.String("out", "screenshots", "directory for the pictures")
	only := flag.String("only", "", "write only the pictures whose names begin with this")
	flag.Parse()
	if err := run(*program, *fonts, *out, *only); err != nil {
		fmt.Fprintln(os.Stderr, "screenshots:", err)
		os.Exit(1)
	}
}

func run(program, fonts, out, only string) (err error) {
	face, err := loadTypeface(fonts)
	if err != nil {
		return fmt.Errorf("%w\nhint: apt-get install fonts-dejavu-core, or name the directory of DejaVu Sans Mono with -fonts", err)
	}
	if program, err = filepath.Abs(program); err != nil {
		return err
	}
	// The directory has a fixed name, since the screen shows it and the ports are derived from it. It is the name of the
	// default directory, so that no command on the screen has to name the directory.
	dir := filepath.Join(os.TempDir(), "hermes-box-demo")
	if err := os.Mkdir(dir, 0o700); err != nil {
		return fmt.Errorf("%w\nhint: another run is at work, or one was killed: HERMES_BOX_DEMO_DIR=%[2]s hermes-box --demo destroy --force; rm -r %[2]s", err, dir)
	}
	s := &studio{program: program, out: out, only: only, face: face, dir: dir}
	end := sync.OnceValue(s.end)
	defer func() { err = errors.Join(err, end()) }()
	interrupt := make(chan os.Signal, 1)
	signal.Notify(interrupt, syscall.SIGINT, syscall.SIGTERM)
	go func() {
		<-interrupt
		if err := end(); err != nil {
			fmt.Fprintln(os.Stderr, "screenshots:", err)
		}
		os.Exit(130)
	}()
	defer func() {
		if r := recover(); r != nil {
			failed, ok := r.(failure)
			if !ok {
				panic(r)
			}
			err = failed
		}
	}()
	s.play()
	return nil
}

// studio takes the pictures. It implements the testing interface that ttytest needs.
type studio struct {
	program, out, only string
	face               *typeface
	dir                string // directory of the demo; removed at the end
	cleanups           []func()
}

type failure struct{ error }

func (s *studio) Helper()                   {}
func (s *studio) Cleanup(do func())         { s.cleanups = append(s.cleanups, do) }
func (s *studio) Fatal(v ...any)            { panic(failure{errors.New(fmt.Sprint(v...))}) }
func (s *studio) Error(v ...any)            { s.Fatal(v...) }
func (s *studio) Fatalf(f string, v ...any) { panic(failure{fmt.Errorf(f, v...)}) }
func (s *studio) Errorf(f string, v ...any) { s.Fatalf(f, v...) }

// end closes the terminals and removes the demo and its directory.
func (s *studio) end() error {
	for _, do := range s.cleanups {
		do()
	}
	c := s.cmd("destroy", "--force")
	text, err := c.CombinedOutput()
	if err != nil && !strings.Contains(string(text), "does not exist") {
		return fmt.Errorf("destroy the demo in %s: %w: %s", s.dir, err, text)
	}
	return os.RemoveAll(s.dir)
}

// cmd returns the command hermes-box --demo with these arguments.
func (s *studio) cmd(args ...string) *exec.Cmd {
	c := exec.Command(s.program, append([]string{"--demo"}, args...)...)
	c.Env = append(os.Environ(), "HERMES_BOX_DEMO_DIR="+s.dir, "XDG_CACHE_HOME="+filepath.Dir(s.dir), "HERMES_BOX_DEMO_FAULTS=", "HERMES_BOX_DEMO_PACE=0")
	return c
}

func (s *studio) must(args ...string) {
	if out, err := s.cmd(args...).CombinedOutput(); err != nil {
		s.Fatalf("%s: %w: %s", strings.Join(args, " "), err, out)
	}
}

// open starts the dashboard in a terminal of w by h cells, with env added to its environment.
func (s *studio) open(w, h int, env ...string) *ttytest.Terminal {
	return ttytest.Start(s, s.cmd(), w, h, append(env, "COLORTERM=truecolor")...)
}

// shoot saves a picture of the screen, once the program has stopped drawing.
func (s *studio) shoot(name string, d *ttytest.Terminal, t terminal) {
	if !strings.HasPrefix(name, s.only) {
		return
	}
	d.Idle()
	img, err := s.face.picture(d.Cells(), t)
	if err != nil {
		s.Fatalf("%s: %w\n%s", name, err, d.Text())
	}
	if err := save(filepath.Join(s.out, name+".png"), img); err != nil {
		s.Fatal(err)
	}
	fmt.Println(name)
}

// patience is the longest time that the program may take to end.
const patience = 10 * time.Second

// rest waits until the dashboard accepts keys again after a view has opened by itself.
func rest() { time.Sleep(450 * time.Millisecond) }
