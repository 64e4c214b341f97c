package component

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"hermes-box/guest/durable"
	"hermes-box/guest/layout"
	"hermes-box/guest/machine"
	"hermes-box/guest/protocol"
)

// Hermes is Hermes Agent: a wheel and all wheels it depends on. The applied uv installs them offline into a virtual
// environment, which is the release. Its Python is the guest's own or one of the artifacts.
type Hermes struct{ programOnly }

func (Hermes) Name() string { return "hermes" }
func (Hermes) Unit() string { return layout.HermesUnit }

func (Hermes) Commands() map[string]string { return map[string]string{"hermes": "bin/hermes"} }

var hermesHome = durable.Dir{Path: layout.HermesHome, UID: layout.AgentID, Mode: 0o700}

func (Hermes) StateDirs() []durable.Dir { return []durable.Dir{hermesHome} }

// installTime is the timeout for one run of uv. On emulated CPUs it takes minutes to install and compile ninety
// wheels.
const installTime = 15 * time.Minute

func (h Hermes) Stage(ctx context.Context, env Env, c protocol.Component, dir string) error {
	tool := filepath.Join(env.Path(layout.CurrentOf("uv")), "bin/uv")
	if !isFile(tool) {
		return &protocol.Error{Code: "preflight_failed", Message: "hermes is installed by uv, and uv is not applied",
			Hint: "apply uv first, or with it"}
	}
	python, err := h.python(ctx, env, c, dir)
	if err != nil {
		return err
	}
	wheels := filepath.Join(dir, ".wheels")
	if err := os.Mkdir(wheels, 0o755); err != nil {
		return err
	}
	var pins []string
	for _, a := range c.Artifacts {
		if c.Python != nil && a.Name == c.Python.Artifact {
			continue
		}
		pin, err := wheelPin(a.Name)
		if err != nil {
			return err
		}
		if err := env.objects().Link(ctx, a, filepath.Join(wheels, a.Name)); err != nil {
			return err
		}
		pins = append(pins, pin)
	}
	// If the cache is on the same file system, uv links files instead of copying them.
	cache := filepath.Join(dir, ".cache")
	vars := []string{"HOME=" + cache, "UV_CACHE_DIR=" + cache, "UV_NO_CONFIG=1", "UV_PYTHON_DOWNLOADS=never", "UV_OFFLINE=1",
		"UV_NO_PROGRESS=1", "PATH=/usr/local/bin:/usr/bin:/bin", "LANG=C.UTF-8"}
	venvPython := filepath.Join(dir, "bin/python")
	for _, args := range [][]string{
		{"venv", "--relocatable", "--allow-existing", "--no-project", "--python", python, dir},
		append([]string{"pip", "install", "--offline", "--no-index", "--no-deps", "--find-links", wheels,
			"--compile-bytecode", "--python", venvPython}, pins...),
		{"pip", "check", "--python", venvPython},
	} {
		if _, err := env.Machine.Run(ctx, machine.Cmd{Path: tool, Args: args, Dir: dir, Env: vars, Timeout: installTime}); err != nil {
			return err
		}
	}
	if err := stampInstall(dir); err != nil {
		return err
	}
	for _, scratch := range []string{wheels, cache} {
		if err := os.RemoveAll(scratch); err != nil {
			return err
		}
	}
	return nil
}

// python returns the interpreter: the guest's own, such as python3.13, or the one in the artifact c.Python.Artifact,
// which is unpacked into the release.
func (Hermes) python(ctx context.Context, env Env, c protocol.Component, dir string) (string, error) {
	if c.Python == nil {
		return "", fmt.Errorf("the lock names no python for hermes")
	}
	if c.Python.Artifact == "" {
		path := env.Path("/usr/bin/python" + c.Python.Version)
		if !layout.ValidName(c.Python.Version) || !isFile(path) {
			return "", &protocol.Error{Code: "preflight_failed", Message: fmt.Sprintf("the guest has no python %s", c.Python.Version),
				Hint: "name the guest's python in the lock, or an artifact that has one"}
		}
		return path, nil
	}
	for _, a := range c.Artifacts {
		if a.Name == c.Python.Artifact {
			home := filepath.Join(dir, "python")
			return filepath.Join(home, "bin/python3"), env.unpack(ctx, c, a, home, 1)
		}
	}
	return "", fmt.Errorf("no artifact of hermes is named %s", c.Python.Artifact)
}

// stampInstall marks the installation as part of a container image, so that Hermes neither checks for updates nor
// updates itself.
func stampInstall(dir string) error {
	found, err := filepath.Glob(filepath.Join(dir, "lib/python3*/site-packages"))
	if err != nil || len(found) != 1 {
		return fmt.Errorf("%d site-packages in the environment of hermes: %v", len(found), err)
	}
	return os.WriteFile(filepath.Join(found[0], ".install_method"), []byte("docker"), 0o644)
}

func (Hermes) Smoke(ctx context.Context, env Env, c protocol.Component, dir string) error {
	if err := moveVenv(dir); err != nil {
		return err
	}
	return env.smokeVersion(ctx, nil, filepath.Join(dir, "bin/hermes"), c.Version)
}

// moveVenv corrects the paths of an environment with its own Python after the release was renamed. The scripts that uv
// made need no correction.
func moveVenv(dir string) error {
	if !isFile(dir, "python/bin/python3") {
		return nil
	}
	link := filepath.Join(dir, "bin/python")
	if target, err := os.Readlink(link); err == nil && target == "../python/bin/python3" {
		return nil
	}
	file := filepath.Join(dir, "pyvenv.cfg")
	text, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	lines := strings.Split(string(text), "\n")
	for i, line := range lines {
		if key, _, ok := strings.Cut(line, "="); ok && strings.TrimSpace(key) == "home" {
			lines[i] = "home = " + filepath.Join(dir, "python/bin")
		}
	}
	if err := os.WriteFile(file, []byte(strings.Join(lines, "\n")), 0o644); err != nil {
		return err
	}
	if err := os.Remove(link); err != nil {
		return err
	}
	return os.Symlink("../python/bin/python3", link)
}

func (Hermes) Health(_ context.Context, env Env, unit machine.Unit) (string, string) {
	if state, detail := runnable(env, Hermes{}, "bin/hermes"); state != protocol.Healthy {
		return state, detail
	}
	if unit.Active != "active" {
		return serviceState(unit)
	}
	var gateway struct {
		State string `json:"gateway_state"`
		Why   string `json:"exit_reason"`
	}
	path := env.Path(hermesHome.Path, "gateway_state.json")
	info, err := os.Stat(path)
	if err != nil || info.ModTime().Before(unit.Since.Add(-time.Second)) {
		return protocol.FailedState, "the gateway has not written its state since it was started"
	}
	if err := durable.ReadJSON(path, &gateway); err != nil {
		return protocol.FailedState, "the state of the gateway cannot be read: " + err.Error()
	}
	if gateway.State != "running" {
		return protocol.FailedState, strings.TrimSuffix(fmt.Sprintf("the gateway is in state %q: %s", gateway.State, gateway.Why), ": ")
	}
	if !HermesSetUp(env.Tree) {
		return protocol.SetupRequired, "no model or login yet"
	}
	return protocol.Healthy, ""
}
