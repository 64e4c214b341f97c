package limactl

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
)

// listed is one line of limactl list.
type listed struct {
	Name            string `json:"name"`
	Status          string `json:"status"`
	Dir             string `json:"dir"`
	VMType          string `json:"vmType"`
	Arch            string `json:"arch"`
	CPUs            int    `json:"cpus"`
	Memory          int64  `json:"memory"`
	Disk            int64  `json:"disk"`
	SSHLocalPort    int    `json:"sshLocalPort"`
	HostAgentPID    int    `json:"hostAgentPID"`
	DriverPID       int    `json:"driverPID"`
	AdditionalDisks []struct {
		Name string `json:"name"`
	} `json:"additionalDisks"`
	errors string // from stderr, because in the JSON the errors are empty objects
}

// listFormat prints the JSON of each instance. With --format=json, limactl would pass each line through yq, which fails
// if a line has more than 64 KiB.
const listFormat = "--format={{json .}}"

// Instance returns an instance as Lima and the instance's own files describe it. The error is ErrNotFound if both say
// that there is no instance of exactly this name. If they contradict each other, the error names both.
func (c *Client) Instance(ctx context.Context, name string) (Instance, error) {
	if err := checkName("instance", name); err != nil {
		return Instance{}, err
	}
	in, err := c.listed(ctx, name)
	if errors.Is(err, errContradiction) { // it may have been created after Lima made the list
		return c.listed(ctx, name)
	}
	return in, err
}

func (c *Client) listed(ctx context.Context, name string) (Instance, error) {
	out, err := c.ask(ctx, "list", listFormat, name)
	if err == nil {
		list, err := decode[listed](out.stdout)
		if err != nil {
			return Instance{}, fmt.Errorf("limactl list: %w", err)
		}
		for _, l := range list {
			if l.Name == name {
				l.errors = listErrors(out.stderr, name)
				return inspect(l), nil
			}
		}
	}
	// A create or a delete that was killed leaves a directory without lima.yaml.
	if leftover(c.Dir(name)) {
		f := readFacts(c.Dir(name), "")
		return Instance{Name: name, State: Degraded, Dir: c.Dir(name), Left: !f.runs() && !f.hidden(), Hidden: f.hidden(),
			Cause: c.Dir(name) + " is the rest of an instance that was only partly created or partly deleted"}, nil
	}
	if err != nil && !strings.Contains(out.stderr, "No instance matching "+name+" found") {
		return Instance{}, err
	}
	return Instance{}, c.unlisted(name)
}

// unlisted returns the error for an instance that limactl list does not show. It is ErrNotFound only if the instance's
// directory is gone too. Otherwise limactl and the files contradict each other, and the instance does not count as
// absent.
func (c *Client) unlisted(name string) error {
	dir := c.Dir(name)
	if !exists(dir) {
		return fmt.Errorf("instance %s: %w", name, ErrNotFound)
	}
	message := fmt.Sprintf("limactl list does not show instance %s, but its directory %s is there", name, dir)
	f := readFacts(dir, c.vmType(name))
	for _, p := range []process{f.driver, f.agent} {
		if p.ours {
			message += fmt.Sprintf(" and its process %d runs", p.pid)
			break
		}
	}
	return &Error{Message: message, Do: c.CommandLine("list"), Err: errContradiction}
}

// errContradiction is the cause of an error if Lima and the files disagree on whether something exists.
var errContradiction = errors.New("limactl and the files contradict each other")

// listErrors returns the errors of an instance, from the warning of limactl list; "" if it did not warn.
func listErrors(stderr, name string) string {
	for line := range strings.Lines(stderr) {
		msg := logField(line, "msg")
		if strings.HasPrefix(msg, "instance ") && strings.Contains(msg, name) && strings.HasSuffix(msg, "has errors") {
			return strings.Trim(logField(strings.TrimRight(line, "\n"), "errors"), "[]")
		}
	}
	return ""
}

// decode decodes the output of limactl: one JSON object per line, or an array in some versions. It skips lines that do
// not begin with a brace or a bracket. A line that begins so but is not valid JSON is an error.
func decode[T any](data []byte) ([]T, error) {
	var all []T
	for {
		data = bytes.TrimLeft(data, " \t\r\n")
		if len(data) == 0 {
			return all, nil
		}
		if data[0] != '{' && data[0] != '[' {
			_, data, _ = bytes.Cut(data, []byte("\n"))
			continue
		}
		d := json.NewDecoder(bytes.NewReader(data))
		var raw json.RawMessage
		if err := d.Decode(&raw); err != nil {
			return nil, fmt.Errorf("the output is not JSON: %w", err)
		}
		if raw[0] == '[' {
			var many []T
			if err := json.Unmarshal(raw, &many); err != nil {
				return nil, err
			}
			all = append(all, many...)
		} else {
			var one T
			if err := json.Unmarshal(raw, &one); err != nil {
				return nil, err
			}
			all = append(all, one)
		}
		data = data[d.InputOffset():]
	}
}
