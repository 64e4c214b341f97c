package guest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"gopkg.in/yaml.v3"

	"hermes-box/guest/machine"
	"hermes-box/guest/protocol"
)

// signInTime bounds one question to an agent; all are asked at once.
const signInTime = time.Minute

// SignedIn asks what a person signs in to whether that is done: the agents themselves where they tell it cheaply,
// what they leave behind where they do not. Nothing is changed. What cannot be told counts as not done, and says why.
func (g *Guest) SignedIn(ctx context.Context) (protocol.SignedIn, error) {
	applied, err := g.AppliedState()
	if err != nil {
		return protocol.SignedIn{}, err
	}
	probes := []struct {
		name      string
		component component
		ask       func(context.Context) (done bool, detail string)
	}{
		{protocol.SignInClaude, claude{}, g.claudeSignedIn},
		{protocol.SignInCodex, codex{}, g.codexSignedIn},
		{protocol.SignInHermes, hermes{}, g.hermesSignedIn},
		{protocol.SignInModel, hermes{}, g.hermesModel},
		{protocol.SignInExecutor, executor{}, g.executorConnected},
		{protocol.SignInToken, hermes{}, g.hermesHasToken},
	}
	answer := protocol.SignedIn{SignIns: make([]protocol.SignIn, len(probes))}
	var wait sync.WaitGroup
	for i, p := range probes {
		answer.SignIns[i].Name = p.name
		if _, ok := applied[p.component.name()]; !ok {
			answer.SignIns[i].Detail = p.component.name() + " is not installed"
			continue
		}
		wait.Go(func() { answer.SignIns[i].Done, answer.SignIns[i].Detail = p.ask(ctx) })
	}
	wait.Wait()
	return answer, ctx.Err()
}

// askAgent runs a program of a release as agent, with the state of agent, and returns what it printed.
func (g *Guest) askAgent(ctx context.Context, limit time.Duration, c component, program string, args ...string) ([]byte, error) {
	home := g.Path(loginHome)
	env := []string{"HOME=" + home, "USER=" + agentUser, "LOGNAME=" + agentUser, "TERM=dumb", "NO_COLOR=1"}
	for _, kv := range environment {
		if name, value, _ := strings.Cut(kv, "="); filepath.IsAbs(value) && name != "PATH" {
			kv = name + "=" + g.Path(value)
		}
		env = append(env, kv)
	}
	return g.Machine.Run(ctx, machine.Cmd{Path: filepath.Join(g.currentPath(c), program), Args: args, Dir: home, Env: env,
		User: agentUser, Timeout: limit})
}

// claudeSignedIn believes Claude Code, and its credentials file where it does not say.
func (g *Guest) claudeSignedIn(ctx context.Context) (bool, string) {
	out, err := g.askAgent(ctx, signInTime, claude{}, "bin/claude", "auth", "status")
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
	return unsaid(ctx, err, g, claude{})
}

// codexSignedIn believes Codex, and its credentials file where it does not say.
func (g *Guest) codexSignedIn(ctx context.Context) (bool, string) {
	out, err := g.askAgent(ctx, signInTime, codex{}, "bin/codex", "login", "status")
	for line := range strings.Lines(string(out)) {
		switch line = strings.TrimSpace(line); {
		case err == nil && strings.HasPrefix(line, "Logged in"):
			return true, strings.ToLower(line[:1]) + line[1:]
		case err != nil && strings.HasPrefix(line, "Not logged in"):
			return false, "not signed in"
		}
	}
	return unsaid(ctx, err, g, codex{})
}

// unsaid is the answer for an agent that did not tell: whether it has credentials.
func unsaid(ctx context.Context, err error, g *Guest, c component) (bool, string) {
	state, detail := c.health(ctx, g, machine.Unit{})
	if state == protocol.Healthy {
		return true, "has credentials"
	}
	var exit *machine.ExitError
	if errors.As(err, &exit) && exit.Status < 0 { // it could not be asked at all
		detail += ": " + exit.Error()
	}
	return false, detail
}

// jsonIn is what is between the first brace and the last: warnings may stand around it.
func jsonIn(out []byte) []byte {
	text := string(out)
	from, to := strings.IndexByte(text, '{'), strings.LastIndexByte(text, '}')
	if from < 0 || to < from {
		return nil
	}
	return out[from : to+1]
}

func (g *Guest) hermesSignedIn(context.Context) (bool, string) {
	if hermesSetUp(g) {
		return true, "set up"
	}
	return false, "not set up"
}

func (g *Guest) hermesModel(context.Context) (bool, string) {
	if model := modelIn(g.hermesText("config.yaml")); model != "" {
		return true, model
	}
	return false, "no model chosen"
}

// hermesText is a file of Hermes's; empty if it is not there.
func (g *Guest) hermesText(name string) []byte {
	text, _ := os.ReadFile(g.Path(hermesHome.path, name))
	return text
}

// modelIn finds the model in Hermes's configuration, which is its name or a mapping that has it.
func modelIn(config []byte) string {
	var c struct{ Model yaml.Node }
	if yaml.Unmarshal(config, &c) != nil {
		return ""
	}
	var name string
	if c.Model.Decode(&name) == nil {
		return name
	}
	var m map[string]any
	_ = c.Model.Decode(&m)
	for _, key := range []string{"default", "model", "name"} {
		if name, ok := m[key].(string); ok && name != "" {
			return name
		}
	}
	return ""
}

// executorConnected asks Executor which accounts of services it has been given.
func (g *Guest) executorConnected(ctx context.Context) (bool, string) {
	token, err := g.executorToken()
	if err != nil {
		return false, "its token cannot be read: " + err.Error()
	}
	base, err := g.executorURL()
	if err != nil {
		return false, err.Error()
	}
	status, body, err := g.Machine.Get(ctx, base+"/api/connections", map[string]string{"Authorization": "Bearer " + token})
	var connections []json.RawMessage
	switch {
	case err != nil:
		return false, "it does not answer: " + err.Error()
	case status != 200 || json.Unmarshal(body, &connections) != nil:
		return false, fmt.Sprintf("it does not tell what it is connected to: it answers %d", status)
	case len(connections) == 0:
		return false, "nothing connected yet"
	case len(connections) == 1:
		return true, "1 service connected"
	}
	return true, fmt.Sprintf("%d services connected", len(connections))
}

// hermesHasToken looks whether Hermes is told of Executor and holds a token that Executor takes.
func (g *Guest) hermesHasToken(ctx context.Context) (bool, string) {
	base, err := g.executorURL()
	if err != nil {
		return false, err.Error()
	}
	token := variableIn(string(g.hermesText(".env")), tokenVariable)
	config, err := setServer(g.hermesText("config.yaml"), serverName, executorServer(base+"/mcp", nil))
	switch {
	case token == "":
		return false, "Hermes has no token"
	case err != nil || string(config) != string(g.hermesText("config.yaml")):
		return false, "Hermes has a token and is not told of Executor"
	}
	if state, detail := initializeMCP(ctx, g, base+"/mcp", token); state != protocol.Healthy {
		return false, "Executor does not take the token of Hermes: " + detail
	}
	return true, "Hermes knows Executor"
}

func (g *Guest) executorURL() (string, error) {
	ports, err := g.ports()
	if err != nil {
		return "", errors.New("the port of Executor is not recorded")
	}
	return fmt.Sprintf("http://127.0.0.1:%d", ports.Executor), nil
}
