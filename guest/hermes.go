package guest

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"time"

	"hermes-box/guest/machine"
	"hermes-box/guest/protocol"
)

// hermes is Hermes Agent: a complete closure of wheels, installed offline by the applied uv into a virtual
// environment that is the release. Its Python is the guest's own, or one of its artifacts.
type hermes struct{ plain }

func (hermes) name() string { return "hermes" }
func (hermes) unit() string { return hermesUnit }

func (hermes) commands() map[string]string { return map[string]string{"hermes": "bin/hermes"} }

var hermesHome = stateDir{path: agentHome + "/.hermes", uid: agentID, mode: 0o700}

func (hermes) stateDirs() []stateDir { return []stateDir{hermesHome} }

// installTime bounds one run of uv: ninety wheels and their byte code on emulated CPUs.
const installTime = 15 * time.Minute

func (h hermes) stage(ctx context.Context, g *Guest, c protocol.Component, dir string) error {
	tool := filepath.Join(g.currentPath(uv{}), "bin/uv")
	if !isFile(tool) {
		return &protocol.Error{Code: "preflight_failed", Message: "hermes is installed by uv, and uv is not applied",
			Hint: "apply uv first, or with it"}
	}
	python, err := h.python(ctx, g, c, dir)
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
		if err := g.linkObject(ctx, a, filepath.Join(wheels, a.Name)); err != nil {
			return err
		}
		pins = append(pins, pin)
	}
	// The cache is inside, so that wheels are unpacked once and linked; it goes when that is done.
	cache := filepath.Join(dir, ".cache")
	env := []string{"HOME=" + cache, "UV_CACHE_DIR=" + cache, "UV_NO_CONFIG=1", "UV_PYTHON_DOWNLOADS=never", "UV_OFFLINE=1",
		"UV_NO_PROGRESS=1", "PATH=/usr/local/bin:/usr/bin:/bin", "LANG=C.UTF-8"}
	venvPython := filepath.Join(dir, "bin/python")
	for _, args := range [][]string{
		{"venv", "--relocatable", "--allow-existing", "--no-project", "--python", python, dir},
		append([]string{"pip", "install", "--offline", "--no-index", "--no-deps", "--find-links", wheels,
			"--compile-bytecode", "--python", venvPython}, pins...),
		{"pip", "check", "--python", venvPython},
	} {
		if _, err := g.Machine.Run(ctx, machine.Cmd{Path: tool, Args: args, Dir: dir, Env: env, Timeout: installTime}); err != nil {
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

// python finds the interpreter: "python3.13" of the guest, or the one in the artifact that is named, unpacked
// into the release.
func (hermes) python(ctx context.Context, g *Guest, c protocol.Component, dir string) (string, error) {
	if c.Python == nil {
		return "", fmt.Errorf("hermes names no python")
	}
	if c.Python.Artifact == "" {
		path := g.Path("/usr/bin/python" + c.Python.Version)
		if !safeName(c.Python.Version) || !isFile(path) {
			return "", &protocol.Error{Code: "preflight_failed", Message: fmt.Sprintf("the guest has no python %s", c.Python.Version),
				Hint: "name the guest's python in the lock, or an artifact that holds one"}
		}
		return path, nil
	}
	for _, a := range c.Artifacts {
		if a.Name == c.Python.Artifact {
			home := filepath.Join(dir, "python")
			return filepath.Join(home, "bin/python3"), g.unpack(ctx, c, a, home, 1)
		}
	}
	return "", fmt.Errorf("no artifact of hermes is named %s", c.Python.Artifact)
}

// stampInstall tells Hermes that it is installed by an image, which turns its update check and its updater off
// and leaves everything else on.
func stampInstall(dir string) error {
	found, err := filepath.Glob(filepath.Join(dir, "lib/python3*/site-packages"))
	if err != nil || len(found) != 1 {
		return fmt.Errorf("%d site-packages in the environment of hermes: %v", len(found), err)
	}
	return os.WriteFile(filepath.Join(found[0], ".install_method"), []byte("docker"), 0o644)
}

func (hermes) smoke(ctx context.Context, g *Guest, c protocol.Component, dir string) error {
	if err := moveVenv(dir); err != nil {
		return err
	}
	return g.smokeVersion(ctx, nil, filepath.Join(dir, "bin/hermes"), c.Version)
}

// moveVenv points an environment whose Python is inside the release to where the release is now. Scripts are
// relocatable as uv makes them.
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

func (hermes) health(_ context.Context, g *Guest, unit machine.Unit) (string, string) {
	if state, detail := runnable(g, hermes{}, "bin/hermes"); state != protocol.Healthy {
		return state, detail
	}
	if unit.Active != "active" {
		return serviceState(unit)
	}
	var gateway struct {
		State string `json:"gateway_state"`
		Why   string `json:"exit_reason"`
	}
	path := g.Path(hermesHome.path, "gateway_state.json")
	info, err := os.Stat(path)
	if err != nil || info.ModTime().Before(unit.Since.Add(-time.Second)) {
		return protocol.FailedState, "the gateway has not said that it runs"
	}
	if err := getJSON(path, &gateway); err != nil || gateway.State != "running" {
		return protocol.FailedState, strings.TrimSpace("the gateway is " + gateway.State + " " + gateway.Why)
	}
	if !hermesSetUp(g) {
		return protocol.SetupRequired, "no model or login yet"
	}
	return protocol.Healthy, ""
}

// serviceState is the state of a component whose service does not run.
func serviceState(unit machine.Unit) (state, detail string) {
	switch {
	case unit.Active == "failed":
		return protocol.FailedState, "its service failed: " + unit.Result
	case unit.Active == "activating" && unit.Sub != "auto-restart" && unit.Restart < maxCrashes:
		return protocol.Starting, "its service is " + unit.Sub
	case unit.Active == "inactive" && unit.Queued:
		return protocol.Starting, "its service waits for its turn"
	case unit.Active == "activating" || unit.Restart > 0:
		return protocol.FailedState, "its service is " + unit.Active + ", " + unit.Sub
	}
	return protocol.Stopped, ""
}

var apiKey = regexp.MustCompile(`(?m)^[ \t]*(?:export[ \t]+)?([A-Z0-9_]+)_API_KEY[ \t]*=[ \t]*["']?[^\s"']`)

// hermesSetUp looks for what any way of setting Hermes up leaves behind. Keys of MCP servers are none: they are for
// tools, not for a model.
func hermesSetUp(g *Guest) bool {
	var auth struct {
		Providers map[string]json.RawMessage `json:"providers"`
		Pool      map[string]json.RawMessage `json:"credential_pool"`
	}
	if err := getJSON(g.Path(hermesHome.path, "auth.json"), &auth); err == nil && len(auth.Providers)+len(auth.Pool) > 0 {
		return true
	}
	for _, key := range apiKey.FindAllSubmatch(g.hermesText(".env"), -1) {
		if !strings.HasPrefix(string(key[1]), "MCP_") {
			return true
		}
	}
	return modelIn(g.hermesText("config.yaml")) != ""
}

// wheelName is the file name of a wheel: name, version, perhaps a build, and three tags.
var wheelName = regexp.MustCompile(`^([A-Za-z0-9][A-Za-z0-9._]*)-([A-Za-z0-9][A-Za-z0-9._+!]*)(-[0-9][A-Za-z0-9_.]*)?(-[A-Za-z0-9_.]+){3}\.whl$`)

// wheelPin is the requirement that a wheel satisfies: "name==version".
func wheelPin(file string) (string, error) {
	m := wheelName.FindStringSubmatch(file)
	if m == nil {
		return "", fmt.Errorf("%s is not the file name of a wheel", file)
	}
	return m[1] + "==" + m[2], nil
}
