package limactl

import (
	"context"
	"errors"
	"fmt"
	"hermes-box/limactl/child"
	"os"
	"path/filepath"
	"syscall"
	"time"
)

// Stop shuts an instance down and waits, at most timeout, until it is off. If that fails and force is set, it kills
// the instance, but never a process that does not belong to it. It does nothing if the instance is off.
//
// The guest has 30 seconds to shut down under vz, and three minutes under qemu. The caller must have stopped services
// and synced disks.
func (c *Client) Stop(ctx context.Context, name string, force bool, timeout time.Duration) error {
	if err := c.CleanStale(ctx, name); err != nil {
		return err
	}
	in, err := c.Instance(ctx, name)
	if err != nil {
		return err
	}
	f := readFacts(in.Dir, in.VMType)
	if off, err := f.off(in); off || err != nil {
		return err
	}
	err = c.shutDown(ctx, in, f, timeout)
	if err == nil || ctx.Err() != nil {
		return err
	}
	if !force {
		return &Error{Message: fmt.Sprintf("instance %s did not stop: %v", name, err), Do: "hermes-box stop --force", Err: err}
	}
	return c.forceOff(ctx, in)
}

// shutDown asks the host agent to shut the guest down.
func (c *Client) shutDown(ctx context.Context, in Instance, f facts, timeout time.Duration) error {
	if !f.agent.ours {
		return errors.New("its host agent has died")
	}
	if in.Raw == "Running" && !(f.last != nil && f.last.Exiting) {
		err := c.askToStop(ctx, in, timeout)
		if off := c.awaitOff(ctx, in, time.Second); off == nil {
			return nil // off, even if limactl failed
		} else if err == nil {
			err = off
		}
		return err
	}
	// limactl refuses to stop a Broken instance, such as one that boots or already shuts down, but its host agent
	// obeys a signal.
	if err := syscall.Kill(f.agent.pid, syscall.SIGINT); err != nil && !errors.Is(err, syscall.ESRCH) {
		return err
	}
	return c.awaitOff(ctx, in, timeout)
}

// askToStop runs limactl stop, and ends it soon after the instance is off. limactl continues to wait if the
// instance's pid now belongs to another process.
func (c *Client) askToStop(ctx context.Context, in Instance, timeout time.Duration) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	go func() {
		if c.awaitOff(ctx, in, timeout) == nil {
			time.AfterFunc(child.Grace, cancel)
		}
	}()
	_, err := c.run(ctx, timeout, nil, "stop", in.Name)
	return err
}

// forceOff kills an instance through limactl, which also removes its locks, or directly if that fails.
func (c *Client) forceOff(ctx context.Context, in Instance) error {
	held, err := c.foreignLocks(ctx, in)
	if err != nil {
		return err
	}
	// limactl kills every process that the instance's pid files name, even one that does not belong to the instance. So
	// stale pid files are removed just before.
	if err := c.CleanStale(ctx, in.Name); err != nil {
		return err
	}
	if readFacts(in.Dir, in.VMType).hidden() {
		return c.Kill(ctx, in.Name)
	}
	_, err = c.run(ctx, time.Minute, nil, "stop", "--force", in.Name)
	if locksErr := c.restoreLocks(context.WithoutCancel(ctx), held); locksErr != nil {
		return locksErr
	}
	if off := c.awaitOff(ctx, in, child.Grace); off == nil {
		return nil
	}
	if killErr := c.Kill(ctx, in.Name); killErr != nil {
		return errors.Join(err, killErr)
	}
	return nil
}

// Kill ends the processes of an instance at once, as a power cut would, without Lima. It does not touch a pid that
// belongs to another process. The disks stay locked, as after a crash.
func (c *Client) Kill(ctx context.Context, name string) error {
	if err := checkName("instance", name); err != nil {
		return err
	}
	in := Instance{Name: name, Dir: c.Dir(name), VMType: c.vmType(name)}
	return c.awaitOff(ctx, in, 4*child.Grace, func(f facts) error {
		for _, p := range []process{f.agent, f.driver} { // the agent first: otherwise it would unlock the disks
			if !p.ours {
				continue
			}
			if err := syscall.Kill(p.pid, syscall.SIGKILL); err != nil && !errors.Is(err, syscall.ESRCH) {
				return fmt.Errorf("kill pid %d of instance %s: %w", p.pid, name, err)
			}
		}
		return nil
	})
}

// awaitOff waits until no process of an instance runs. If this user cannot see the processes, it returns an error. While
// it waits, it calls the functions in each again and again, with the processes that still run, because a host agent
// that has just started may start its driver later.
func (c *Client) awaitOff(ctx context.Context, in Instance, timeout time.Duration, each ...func(facts) error) error {
	ctx, cancel := context.WithTimeoutCause(ctx, timeout, fmt.Errorf("instance %s still runs after %v: %w", in.Name, timeout, ErrTimeout))
	defer cancel()
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	for {
		f := readFacts(in.Dir, in.VMType)
		if off, err := f.off(in); off || err != nil {
			return err
		}
		for _, act := range each {
			if err := act(f); err != nil {
				return err
			}
		}
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-tick.C:
		}
	}
}

// CleanStale removes pid files that do not name processes of this instance, as far as this user can see. Such a file may
// name a zombie or, after a reboot of the host, a process of another program. Lima would call the instance broken or running, and stop --force
// would kill the other program. CleanStale does not touch any process.
func (c *Client) CleanStale(_ context.Context, name string) error {
	if err := checkName("instance", name); err != nil {
		return err
	}
	dir := c.Dir(name)
	for _, file := range []string{"ha.pid", "qemu.pid", "vz.pid"} {
		path := filepath.Join(dir, file)
		p := readPID(dir, file)
		if !exists(path) || p.ours || p.hidden || p.pid == 0 && fresh(path) {
			continue // a start that has just made the file may not have written the pid yet
		}
		if err := os.Remove(path); err != nil && !errors.Is(err, os.ErrNotExist) {
			return fmt.Errorf("instance %s: stale pid file: %w", name, err)
		}
	}
	return nil
}

// fresh reports whether a file is younger than a second.
func fresh(path string) bool {
	st, err := os.Stat(path)
	return err == nil && time.Since(st.ModTime()).Abs() < time.Second
}

// vmType returns the driver of an instance according to its files, without asking Lima.
func (c *Client) vmType(name string) string {
	if exists(filepath.Join(c.Dir(name), "vz.pid")) {
		return "vz"
	}
	return "qemu"
}
