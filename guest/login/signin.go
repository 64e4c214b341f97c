package login

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"hermes-box/guest/component"
	"hermes-box/guest/layout"
	"hermes-box/guest/machine"
	"hermes-box/guest/protocol"
)

// signInTime is the timeout for one question to an agent. All agents are asked at the same time.
const signInTime = time.Minute

// SignedIn reports which sign-ins are done. It asks Claude Code, Codex and Executor, and reads the files of Hermes. It
// changes nothing. A sign-in whose state cannot be found out counts as not done, with the reason.
func (l Login) SignedIn(ctx context.Context) (protocol.SignedIn, error) {
	applied, err := l.Applied()
	if err != nil {
		return protocol.SignedIn{}, err
	}
	probes := []struct {
		name      string
		component component.Component
		ask       func(context.Context) (done bool, detail string)
	}{
		{protocol.SignInClaude, component.Claude{}, l.claudeSignedIn},
		{protocol.SignInCodex, component.Codex{}, l.codexSignedIn},
		{protocol.SignInHermes, component.Hermes{}, l.hermesSignedIn},
		{protocol.SignInModel, component.Hermes{}, l.hermesModel},
		{protocol.SignInExecutor, component.Executor{}, l.executorConnected},
		{protocol.SignInToken, component.Hermes{}, l.hermesHasToken},
	}
	answer := protocol.SignedIn{SignIns: make([]protocol.SignIn, len(probes))}
	var wait sync.WaitGroup
	for i, p := range probes {
		answer.SignIns[i].Name = p.name
		if _, ok := applied[p.component.Name()]; !ok {
			answer.SignIns[i].Detail = p.component.Name() + " is not installed"
			continue
		}
		wait.Go(func() { answer.SignIns[i].Done, answer.SignIns[i].Detail = p.ask(ctx) })
	}
	wait.Wait()
	return answer, ctx.Err()
}

// askAgent runs a program of a release as the agent user, in its home, and returns what it printed.
func (l Login) askAgent(ctx context.Context, limit time.Duration, c component.Component, program string, args ...string) ([]byte, error) {
	home := l.Path(layout.LoginHome)
	env := []string{"HOME=" + home, "USER=" + layout.AgentUser, "LOGNAME=" + layout.AgentUser, "TERM=dumb", "NO_COLOR=1"}
	for _, kv := range layout.Environment {
		if name, value, _ := strings.Cut(kv, "="); filepath.IsAbs(value) && name != "PATH" {
			kv = name + "=" + l.Path(value)
		}
		env = append(env, kv)
	}
	return l.Machine.Run(ctx, machine.Cmd{Path: filepath.Join(l.Path(layout.CurrentOf(c.Name())), program), Args: args, Dir: home, Env: env,
		User: layout.AgentUser, Timeout: limit})
}

// claudeSignedIn asks Claude Code, and looks for its credentials file if it gives no clear answer.
func (l Login) claudeSignedIn(ctx context.Context) (bool, string) {
	out, err := l.askAgent(ctx, signInTime, component.Claude{}, "bin/claude", "auth", "status")
	var says struct {
		LoggedIn *bool  `json:"loggedIn"`
		Method   string `json:"authMethod"`
	}
	if json.Unmarshal(jsonIn(out), &says) == nil && says.LoggedIn != nil {
		if !*says.LoggedIn {
			return false, "not signed in"
		}
		return true, strings.TrimSpace("signed in " + says.Method)
	}
	return l.credentials(ctx, err, component.Claude{})
}

// codexSignedIn asks Codex, and looks for its credentials file if it gives no clear answer.
func (l Login) codexSignedIn(ctx context.Context) (bool, string) {
	out, err := l.askAgent(ctx, signInTime, component.Codex{}, "bin/codex", "login", "status")
	for line := range strings.Lines(string(out)) {
		switch line = strings.TrimSpace(line); {
		case err == nil && strings.HasPrefix(line, "Logged in"):
			return true, strings.ToLower(line[:1]) + line[1:]
		case err != nil && strings.HasPrefix(line, "Not logged in"):
			return false, "not signed in"
		}
	}
	return l.credentials(ctx, err, component.Codex{})
}

// credentials returns the sign-in of an agent that gave no clear answer: done if its program can be run and its
// credentials file is not empty.
func (l Login) credentials(ctx context.Context, err error, c component.Component) (bool, string) {
	state, detail := c.Health(ctx, l.components(), machine.Unit{})
	if state == protocol.Healthy {
		return true, "it has stored credentials"
	}
	var exit *machine.ExitError
	if errors.As(err, &exit) && exit.Status < 0 { // it could not be run, or was killed
		detail += ": " + exit.Error()
	}
	return false, detail
}

// jsonIn returns the text from the first brace to the last: programs print warnings around it.
func jsonIn(out []byte) []byte {
	text := string(out)
	from, to := strings.IndexByte(text, '{'), strings.LastIndexByte(text, '}')
	if from < 0 || to < from {
		return nil
	}
	return out[from : to+1]
}

func (l Login) hermesSignedIn(context.Context) (bool, string) {
	if component.HermesSetUp(l.Tree) {
		return true, "set up"
	}
	return false, "not set up"
}

func (l Login) hermesModel(context.Context) (bool, string) {
	if model := component.HermesModel(l.Tree); model != "" {
		return true, model
	}
	return false, "no model chosen"
}

// executorConnected asks Executor how many services it is connected to.
func (l Login) executorConnected(ctx context.Context) (bool, string) {
	token, err := component.ExecutorToken(l.Tree)
	if err != nil {
		return false, "its token cannot be read: " + err.Error()
	}
	base, err := component.ExecutorURL(l.Tree)
	if err != nil {
		return false, err.Error()
	}
	status, body, err := l.Machine.Get(ctx, base+"/api/connections", map[string]string{"Authorization": "Bearer " + token})
	var connections []json.RawMessage
	switch {
	case err != nil:
		return false, "it does not answer: " + err.Error()
	case status != 200:
		return false, fmt.Sprintf("it does not list its connections: HTTP status %d", status)
	case json.Unmarshal(body, &connections) != nil:
		return false, "its list of connections is not in the expected form"
	case len(connections) == 0:
		return false, "no service connected yet"
	case len(connections) == 1:
		return true, "1 service connected"
	}
	return true, fmt.Sprintf("%d services connected", len(connections))
}

// hermesHasToken reports whether Hermes is configured to use Executor and has a token that Executor accepts.
func (l Login) hermesHasToken(ctx context.Context) (bool, string) {
	base, err := component.ExecutorURL(l.Tree)
	if err != nil {
		return false, err.Error()
	}
	token := variableIn(string(component.HermesFile(l.Tree, ".env")), tokenVariable)
	config, err := setServer(component.HermesFile(l.Tree, "config.yaml"), serverName, executorServer(base+"/mcp", nil))
	switch {
	case token == "":
		return false, "Hermes has no token"
	case err != nil || string(config) != string(component.HermesFile(l.Tree, "config.yaml")):
		return false, "Hermes has a token, but its configuration does not name Executor"
	}
	if state, detail := component.InitializeMCP(ctx, l.Machine, base+"/mcp", token); state != protocol.Healthy {
		return false, "Executor does not accept the token of Hermes: " + detail
	}
	return true, "Hermes uses Executor"
}
