package limactl

import (
	"fmt"
	"strings"
)

// judge returns the state of an instance and its cause, from Lima's status and the instance's files.
//
// Lima's status alone is not enough. It is Broken for a moment during each start, Running from the first second of a
// boot that takes minutes, and Broken again if a pid file from before a reboot names some other process.
func judge(raw, problems string, f facts) (State, string) {
	agent, driver := f.agent.ours, f.driver.ours
	if !agent && !driver {
		for _, p := range []process{f.agent, f.driver} {
			if p.alive {
				return Stopped, fmt.Sprintf("a pid file is left from before a reboot: pid %d is now %q; the next start removes the file", p.pid, clip(p.command))
			}
		}
	}
	off := !f.runs() && !f.hidden()
	booted := f.last != nil && f.last.Running
	leaving := f.last != nil && f.last.Exiting

	if (agent || driver) && (raw == "Stopped" || raw == "Uninitialized") {
		raw = "Broken" // trust the processes more than Lima's list
		problems = strings.TrimPrefix(problems+"; Lima calls it stopped, but its processes run", "; ")
	}
	switch raw {
	case "Stopped":
		return Stopped, ""
	case "Uninitialized":
		return Stopped, "it has never been started"
	case "Installing":
		return Starting, "Lima is installing the guest's system"
	case "Running", "Broken":
		switch {
		case off && (raw == "Running" || f.agent.pid != 0 || f.driver.pid != 0):
			return Stopped, "" // the process has ended since, or is a zombie, which Lima takes for a live process
		case agent && leaving:
			return Degraded, "it is shutting down; wait for it, or stop it"
		case agent && !booted:
			return Starting, "it is booting"
		case driver && !agent: // Lima says Running if the host agent is a zombie
			return Degraded, "the VM runs, but its host agent has died; stop it and start it again"
		case raw == "Running":
			// Lima has asked the host agent, so the instance runs, even if this user cannot see the processes.
			return Running, ""
		case agent && driver:
			return Degraded, "the host agent does not answer: " + reasons(nil, problems) + "; stop it and start it again"
		case agent && f.driver.hidden:
			return Degraded, "Lima calls it broken: " + reasons(nil, problems) + "; this user cannot see whether the VM runs"
		case agent:
			return Degraded, "the VM has died or was powered off from inside, but its host agent still runs; stop it and start it again"
		case f.hidden():
			return Degraded, "Lima calls it broken: " + reasons(nil, problems) + "; this user cannot see whether its processes run"
		}
		return Degraded, "Lima calls it broken: " + reasons(nil, problems) + "; stop it and start it again"
	case "":
		return Degraded, "Lima cannot read its lima.yaml: " + reasons(nil, problems)
	}
	return Degraded, fmt.Sprintf("Lima calls it %q, which this program does not know; use the Lima version that the lock names", raw)
}

func reasons(events []string, problems string) string {
	if len(events) > 0 {
		return strings.Join(events, "; ")
	}
	if problems == "" {
		return "it gives no reason"
	}
	return problems
}

// clip shortens a command line for a message.
func clip(s string) string {
	if len(s) > 60 {
		return s[:60] + "..."
	}
	return s
}

// Peek returns the state of an instance from its files alone. It is for displays, and for a status that must not wait
// for limactl. Instance returns more, such as the cause.
func (c *Client) Peek(name string) State {
	if checkName("instance", name) != nil {
		return Absent
	}
	dir := c.Dir(name)
	if !exists(dir) {
		return Absent
	}
	f := readFacts(dir, "")
	switch {
	case leftover(dir):
		return Degraded
	case !f.runs() && f.hidden():
		return Degraded // it may still run
	case !f.runs():
		return Stopped
	case !f.agent.ours:
		return Degraded
	case f.last == nil || !f.last.Running && !f.last.Exiting:
		return Starting
	case !f.driver.ours || f.last.Exiting:
		return Degraded
	}
	return Running
}
