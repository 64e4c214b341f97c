package guest

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"slices"
	"strings"
	"time"

	"hermes-box/guest/machine"
	"hermes-box/guest/protocol"
)

const (
	serverName    = "executor"             // as Hermes calls Executor
	tokenVariable = "MCP_EXECUTOR_API_KEY" // the name that Hermes itself would give it
	askToolsTime  = 3 * time.Minute        // for Hermes to start and to look at Executor, on emulated CPUs
)

// executorServer is the entry of Executor: the token is named, never written.
func executorServer(url string, tools []string) mcpServer {
	s := mcpServer{URL: url, Headers: map[string]string{"Authorization": "Bearer ${" + tokenVariable + "}"}, Enabled: true}
	if tools != nil {
		s.Tools = &toolFilter{tools}
	}
	return s
}

// LinkExecutor gives Hermes the token of Executor: it goes into Hermes's environment file, and Hermes's configuration
// names Executor by reference to it. Hermes is restarted, and has to find exactly the tools that were reviewed. If
// anything fails, the earlier files are put back and Hermes is restarted with them.
//
// Run again with the same token it changes and restarts nothing, and asks Hermes all the same.
func (g *Guest) LinkExecutor(ctx context.Context, ask protocol.ExecutorLink) (protocol.ExecutorLinked, error) {
	tools := slices.Sorted(slices.Values(ask.Tools))
	done := protocol.ExecutorLinked{Tools: tools}
	if !protocol.ValidToken(ask.Token) || len(tools) == 0 {
		return done, &protocol.Error{Code: "invalid_input", Message: "the link to executor lacks a token that can be sent, or tools"}
	}
	unlock, err := g.exclusive(ctx)
	if err != nil {
		return done, err
	}
	defer unlock()
	files, err := g.linkFiles(ask.Token, tools)
	if err != nil {
		return done, err
	}
	if done.Already, err = g.inUse(ctx, files); err != nil {
		return done, err
	}
	if !done.Already {
		err = g.takeUp(ctx, files)
	}
	if err == nil {
		err = g.provesTools(ctx, tools, ask.Token)
	}
	if err == nil {
		return done, nil
	}
	if !done.Already {
		err = g.putBack(ctx, files, err)
	}
	return done, phaseError(err, "hermes", "setup")
}

// linkFile is a file of Hermes's, as it is and as it shall be.
type linkFile struct {
	name          string
	before, after []byte
	was           fs.FileInfo // nil: there is none
	mode          fs.FileMode // it shall have
}

func (f linkFile) same() bool {
	return f.was != nil && f.was.Mode() == f.mode && string(f.before) == string(f.after)
}

// linkFiles reads the two files that make the link, and edits them in memory.
func (g *Guest) linkFiles(token string, tools []string) ([]linkFile, error) {
	applied, err := g.AppliedState()
	if err != nil {
		return nil, err
	}
	for _, name := range []string{"hermes", "executor"} {
		if _, ok := applied[name]; !ok {
			return nil, &protocol.Error{Code: "preflight_failed", Message: name + " is not installed", Hint: "hermes-box create"}
		}
	}
	base, err := g.executorURL()
	if err != nil {
		return nil, err
	}
	env, err := g.readLinkFile(".env")
	if err != nil {
		return nil, err
	}
	env.after, env.mode = []byte(setVariable(string(env.before), tokenVariable, token)), 0o600
	config, err := g.readLinkFile("config.yaml")
	if err != nil {
		return nil, err
	}
	if config.after, err = setServer(config.before, serverName, executorServer(base+"/mcp", tools)); err != nil {
		return nil, &protocol.Error{Code: "preflight_failed", Message: fmt.Sprintf("%s/config.yaml: %v", hermesHome.path, err),
			Hint: "hermes-box exec -t -- hermes config edit, then run this again"}
	}
	if config.mode = 0o600; config.was != nil {
		config.mode = config.was.Mode()
	}
	return []linkFile{env, config}, nil
}

func (g *Guest) readLinkFile(name string) (linkFile, error) {
	f := linkFile{name: name}
	root, err := os.OpenRoot(g.Path(hermesHome.path))
	if err != nil {
		return f, err
	}
	defer root.Close()
	f.was, err = root.Lstat(name)
	if errors.Is(err, fs.ErrNotExist) {
		f.was = nil
		return f, nil
	}
	if err != nil {
		return f, err
	}
	if !f.was.Mode().IsRegular() {
		return f, &protocol.Error{Code: "preflight_failed", Message: fmt.Sprintf("%s/%s is not a plain file", hermesHome.path, name),
			Hint: "put a plain file in its place, then run this again"}
	}
	f.before, err = root.ReadFile(name)
	return f, err
}

// inUse tells whether the files are as they shall be and Hermes runs since: it has read them.
func (g *Guest) inUse(ctx context.Context, files []linkFile) (bool, error) {
	unit, err := g.unitOf(ctx, hermes{})
	if err != nil || unit.Active != "active" {
		return false, err
	}
	for _, f := range files {
		if !f.same() || !f.was.ModTime().Before(unit.Since) {
			return false, nil
		}
	}
	return true, nil
}

// takeUp writes the files and has Hermes begin anew with them.
func (g *Guest) takeUp(ctx context.Context, files []linkFile) error {
	event := protocol.Event{Component: "hermes", Phase: protocol.PhaseActivate, State: protocol.Started}
	g.emit(event)
	for _, f := range files {
		if f.same() {
			continue
		}
		if err := g.replace(hermesHome, f.name, f.after, f.mode); err != nil {
			return err
		}
	}
	if err := g.restartHermes(ctx); err != nil {
		return err
	}
	event.State = protocol.Done
	g.emit(event)
	return nil
}

func (g *Guest) restartHermes(ctx context.Context) error {
	if err := g.Machine.RestartUnit(ctx, hermesUnit); err != nil {
		return err
	}
	g.did("restart " + hermesUnit)
	return (&change{g: g, c: hermes{}}).wait(ctx)
}

// TakeUpHermes restarts Hermes where it runs since before its own setup was last changed: most of that it reads at
// each turn, but chats to answer in only when it starts. One that does not run is left alone.
func (g *Guest) TakeUpHermes(ctx context.Context) (protocol.TakenUp, error) {
	var done protocol.TakenUp
	unlock, err := g.exclusive(ctx)
	if err != nil {
		return done, err
	}
	defer unlock()
	unit, err := g.unitOf(ctx, hermes{})
	if err != nil || unit.Active != "active" {
		return done, err
	}
	for _, name := range []string{".env", "config.yaml", "auth.json"} {
		info, err := os.Stat(g.Path(hermesHome.path, name))
		done.Restarted = done.Restarted || err == nil && !info.ModTime().Before(unit.Since)
	}
	if !done.Restarted {
		return done, nil
	}
	if err := g.restartHermes(ctx); err != nil {
		return done, phaseError(err, "hermes", "restart")
	}
	return done, nil
}

// putBack makes the files as they were and restarts Hermes with them, also when ctx has ended. It returns the failure
// that led here, with what could not be put back.
func (g *Guest) putBack(ctx context.Context, files []linkFile, failure error) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), healthTime)
	defer cancel()
	var errs []error
	for _, f := range files {
		switch {
		case f.same():
		case f.was == nil:
			errs = append(errs, g.remove(g.Path(hermesHome.path, f.name)))
		default:
			errs = append(errs, g.replace(hermesHome, f.name, f.before, f.was.Mode()))
		}
	}
	errs = append(errs, g.restartHermes(ctx))
	g.emit(protocol.Event{Component: "hermes", Phase: protocol.PhaseActivate, State: protocol.Undone})
	if err := errors.Join(errs...); err != nil {
		return fmt.Errorf("%w; and hermes is not as it was: %w", failure, err)
	}
	return failure
}

// provesTools has Hermes itself look at Executor with what it has been given.
func (g *Guest) provesTools(ctx context.Context, want []string, token string) error {
	event := protocol.Event{Component: "hermes", Phase: protocol.PhaseHealth, State: protocol.Started}
	g.emit(event)
	out, err := g.askAgent(ctx, askToolsTime, hermes{}, "bin/hermes", "mcp", "test", serverName)
	text := strings.ReplaceAll(string(out), token, "...")
	if err != nil {
		var exit *machine.ExitError
		if errors.As(err, &exit) {
			exit.Output = strings.ReplaceAll(exit.Output, token, "...")
		}
		return err
	}
	found, problem := toolsIn(text)
	if problem != "" {
		return &protocol.Error{Code: "health_failed", Message: "hermes does not reach executor: " + problem, Hint: "hermes-box logs hermes"}
	}
	if err := reviewed(found, want); err != nil {
		return err
	}
	event.State = protocol.Done
	g.emit(event)
	return nil
}

// reviewed refuses tools that nobody has reviewed, and the lack of one.
func reviewed(found, want []string) error {
	for _, name := range found {
		if !slices.Contains(want, name) {
			return &protocol.Error{Code: "integrity_failed", Message: fmt.Sprintf("executor offers hermes the tool %q, which was not reviewed", name),
				Hint: "hermes-box doctor"}
		}
	}
	for _, name := range want {
		if !slices.Contains(found, name) {
			return &protocol.Error{Code: "health_failed", Message: fmt.Sprintf("executor offers hermes no tool %q", name),
				Hint: "hermes-box logs executor"}
		}
	}
	return nil
}

// toolsIn reads what `hermes mcp test` prints: a count, then a line for each tool, or what went wrong. Its exit status
// tells nothing.
func toolsIn(text string) (names []string, problem string) {
	listing := false
	for line := range strings.Lines(text) {
		line = strings.TrimRight(line, " \r\n")
		switch words := strings.Fields(line); {
		case len(words) == 0:
		case words[0] == "✗":
			return nil, strings.Join(words[1:], " ")
		case strings.Contains(line, "Tools discovered:"):
			listing = true
		case listing && strings.HasPrefix(line, "    "):
			names = append(names, words[0])
		}
	}
	if !listing {
		return nil, "it tells no tools"
	}
	slices.Sort(names)
	return names, ""
}

// replace writes a file of a state directory anew, owned by its user.
func (g *Guest) replace(dir stateDir, name string, data []byte, mode fs.FileMode) error {
	root, err := os.OpenRoot(g.Path(dir.path))
	if err != nil {
		return err
	}
	defer root.Close()
	return g.writeIn(root, dir, path.Clean(name), data, mode)
}
