package login

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"time"

	"hermes-box/guest/component"
	"hermes-box/guest/layout"
	"hermes-box/guest/protocol"
)

const (
	serverName    = "executor"             // the name of Executor in Hermes's configuration
	tokenVariable = "MCP_EXECUTOR_API_KEY" // the name that Hermes itself would choose
	restoreTime   = 5 * time.Minute
	askToolsTime  = 3 * time.Minute // for Hermes to start and to list the tools, on emulated CPUs
)

// executorServer returns the entry for Executor. It refers to the token by name and does not contain it.
func executorServer(url string, tools []string) mcpServer {
	s := mcpServer{URL: url, Headers: map[string]string{"Authorization": "Bearer ${" + tokenVariable + "}"}, Enabled: true}
	if tools != nil {
		s.Tools = &toolFilter{tools}
	}
	return s
}

// LinkExecutor connects Hermes to Executor: the token goes into Hermes's environment file, and Hermes's configuration
// refers to it. Hermes is restarted and must find exactly the tools that were reviewed. If writing the files, the
// restart or the check of the tools fails, the earlier files are restored and Hermes is restarted with them.
//
// If the files need no change and Hermes has read them, LinkExecutor restarts nothing and only checks the tools again.
func (l Login) LinkExecutor(ctx context.Context, ask protocol.ExecutorLink) (protocol.ExecutorLinked, error) {
	tools := slices.Sorted(slices.Values(ask.Tools))
	done := protocol.ExecutorLinked{Tools: tools}
	if !protocol.ValidToken(ask.Token) || len(tools) == 0 {
		return done, &protocol.Error{Code: "invalid_input", Message: "the request to connect Hermes with Executor has no valid token, or no tools"}
	}
	unlock, err := l.Lock(ctx, layout.Mutex)
	if err != nil {
		return done, err
	}
	defer unlock()
	files, err := l.linkFiles(ask.Token, tools)
	if err != nil {
		return done, err
	}
	if done.Already, err = l.inUse(ctx, files); err != nil {
		return done, err
	}
	if !done.Already {
		err = l.write(ctx, files)
	}
	if err == nil {
		err = l.checkTools(ctx, tools, ask.Token)
	}
	if err == nil {
		return done, nil
	}
	if !done.Already {
		err = l.restore(ctx, files, err)
	}
	return done, component.Failure(err, "hermes", "setup")
}

// linkFile is a file of Hermes before and after the change.
type linkFile struct {
	name          string
	before, after []byte
	was           fs.FileInfo // before; nil if there is no file
	mode          fs.FileMode // after
}

func (f linkFile) same() bool {
	return f.was != nil && f.was.Mode() == f.mode && string(f.before) == string(f.after)
}

// linkFiles reads Hermes's .env and config.yaml and edits them in memory.
func (l Login) linkFiles(token string, tools []string) ([]linkFile, error) {
	applied, err := l.Applied()
	if err != nil {
		return nil, err
	}
	for _, name := range []string{"hermes", "executor"} {
		if _, ok := applied[name]; !ok {
			return nil, &protocol.Error{Code: "preflight_failed", Message: name + " is not installed", Hint: "hermes-box create"}
		}
	}
	base, err := component.ExecutorURL(l.Tree)
	if err != nil {
		return nil, err
	}
	env, err := l.readLinkFile(".env")
	if err != nil {
		return nil, err
	}
	env.after, env.mode = []byte(setVariable(string(env.before), tokenVariable, token)), 0o600
	config, err := l.readLinkFile("config.yaml")
	if err != nil {
		return nil, err
	}
	if config.after, err = setServer(config.before, serverName, executorServer(base+"/mcp", tools)); err != nil {
		return nil, &protocol.Error{Code: "preflight_failed", Message: fmt.Sprintf("%s/config.yaml: %v", layout.HermesHome, err),
			Hint: "to edit it: hermes-box exec -t -- hermes config edit"}
	}
	if config.mode = 0o600; config.was != nil {
		config.mode = config.was.Mode()
	}
	return []linkFile{env, config}, nil
}

func (l Login) readLinkFile(name string) (linkFile, error) {
	f := linkFile{name: name}
	root, err := os.OpenRoot(l.Path(layout.HermesHome))
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
		return f, &protocol.Error{Code: "preflight_failed", Message: fmt.Sprintf("%s/%s is not a regular file", layout.HermesHome, name),
			Hint: "replace it with a regular file, then run this again"}
	}
	f.before, err = root.ReadFile(name)
	return f, err
}

// inUse reports whether the files need no change and Hermes has read them: it was started after they were written.
func (l Login) inUse(ctx context.Context, files []linkFile) (bool, error) {
	unit, err := component.UnitOf(ctx, l.components(), component.Hermes{})
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

// write writes the files and restarts Hermes.
func (l Login) write(ctx context.Context, files []linkFile) error {
	event := protocol.Event{Component: "hermes", Phase: protocol.PhaseActivate, State: protocol.Started}
	l.Emit(event)
	for _, f := range files {
		if f.same() {
			continue
		}
		if err := l.Replace(hermesHome, f.name, f.after, f.mode, l.Machine); err != nil {
			return err
		}
	}
	if err := l.restartHermes(ctx); err != nil {
		return err
	}
	event.State = protocol.Done
	l.Emit(event)
	return nil
}

func (l Login) restartHermes(ctx context.Context) error {
	if err := l.Machine.RestartUnit(ctx, layout.HermesUnit); err != nil {
		return err
	}
	l.Did("restart " + layout.HermesUnit)
	return component.WaitHealthy(ctx, l.components(), component.Hermes{})
}

// restore writes the earlier content of the files, removes those that did not exist, and restarts Hermes, even if ctx
// has ended. It returns the failure that made it necessary, joined with the errors of restoring.
func (l Login) restore(ctx context.Context, files []linkFile, failure error) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), restoreTime)
	defer cancel()
	var errs []error
	for _, f := range files {
		switch {
		case f.same():
		case f.was == nil:
			errs = append(errs, l.Remove(l.Path(layout.HermesHome, f.name)))
		default:
			errs = append(errs, l.Replace(hermesHome, f.name, f.before, f.was.Mode(), l.Machine))
		}
	}
	errs = append(errs, l.restartHermes(ctx))
	l.Emit(protocol.Event{Component: "hermes", Phase: protocol.PhaseActivate, State: protocol.Undone})
	if err := errors.Join(errs...); err != nil {
		return fmt.Errorf("%w; the earlier settings of Hermes could not be restored: %w", failure, err)
	}
	return failure
}
