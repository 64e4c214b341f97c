package ops

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"hermes-box/guest/protocol"
	"hermes-box/ops/fault"
)

// ReviewedTools are what Executor's MCP endpoint may offer. Anything else is refused until it has been reviewed here.
var ReviewedTools = []string{"execute", "resume"}

// ExecutorSetup is the outcome of SetupExecutor.
type ExecutorSetup struct {
	Already bool     `json:"already"` // Hermes had the token and used it: nothing was changed
	Tools   []string `json:"tools"`   // what Hermes finds at Executor
}

// SetupExecutor gives Hermes the token of Executor. The token first proves itself on the forwarded port, where Executor
// has to offer exactly the reviewed tools; then Hermes gets it, is restarted and has to find the same. What fails
// leaves Hermes as it was. The token goes into the box on stdin, and into no log, argument or error.
func (b *Box) SetupExecutor(ctx context.Context, token string, sink Sink) (*ExecutorSetup, error) {
	if !protocol.ValidToken(token) {
		return nil, errToken
	}
	var linked protocol.ExecutorLinked
	err := b.change(ctx, "setup", sink, func(ctx context.Context) (Plan, error) {
		if err := b.running(ctx); err != nil {
			return Plan{}, err
		}
		return Plan{Steps: []Step{
			{ID: "token", Title: "try the token at executor", Do: func(ctx context.Context, _ *Progress) error {
				url, err := b.URL("executor")
				if err != nil {
					return err
				}
				tools, err := ExecutorTools(ctx, url+"mcp", token)
				if err != nil {
					return err
				}
				return reviewed(tools)
			}},
			{ID: "hermes", Title: "give the token to hermes", Do: func(ctx context.Context, p *Progress) error {
				ask := protocol.ExecutorLink{Token: token, Tools: ReviewedTools}
				return b.askUpgrading(ctx, protocol.VerbLinkExecutor, ask, &linked, relay(p))
			}},
		}}, nil
	})
	if err != nil {
		return nil, err
	}
	return &ExecutorSetup{Already: linked.Already, Tools: linked.Tools}, nil
}

var errToken = fault.New(fault.InvalidInput, "that is no token: it is made of letters, digits and -._~+/=").
	Hint("%s shows Executor's", ShowToken)

// toolsBound is the most that a look at an MCP endpoint may take; emulated CPUs are slow.
const toolsBound = time.Minute

// ExecutorTools are the names of the tools that an MCP endpoint offers to whoever has the token, sorted.
func ExecutorTools(ctx context.Context, url, token string) ([]string, error) {
	ctx, cancel := context.WithTimeout(ctx, toolsBound)
	defer cancel()
	bearer := &bearer{token: token, transport: &http.Transport{}} // no proxy: it is on loopback
	defer bearer.transport.CloseIdleConnections()
	names, err := listTools(ctx, &mcp.StreamableClientTransport{
		Endpoint: url,
		HTTPClient: &http.Client{Transport: bearer, CheckRedirect: func(*http.Request, []*http.Request) error {
			return http.ErrUseLastResponse // the token is for this address alone
		}},
		MaxRetries: -1,
		// Executor answers the standing GET only when it has something to say, and Connect waits for that.
		DisableStandaloneSSE: true,
	})
	switch {
	case err == nil:
		return names, nil
	case bearer.refused.Load():
		return nil, fault.New(fault.PreflightFailed, "executor does not take this token").Hint("%s shows the right one", ShowToken)
	case strings.Contains(err.Error(), token): // an answer may repeat what was sent
		err = errors.New("it answers with what it was sent")
	}
	return nil, fault.New(fault.HealthFailed, "the MCP endpoint %s: %w", url, err).Hint("hermes-box logs executor; hermes-box doctor")
}

func listTools(ctx context.Context, transport mcp.Transport) ([]string, error) {
	client := mcp.NewClient(&mcp.Implementation{Name: "hermes-box", Version: fmt.Sprint(protocol.Version)}, nil)
	session, err := client.Connect(ctx, transport, nil)
	if err != nil {
		return nil, err
	}
	defer session.Close()
	var names []string
	for tool, err := range session.Tools(ctx, nil) {
		if err != nil {
			return nil, err
		}
		names = append(names, tool.Name)
	}
	slices.Sort(names)
	return names, nil
}

// bearer adds the token to each request and notices when it is refused.
type bearer struct {
	token     string
	transport *http.Transport
	refused   atomic.Bool
}

func (b *bearer) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.Header.Set("Authorization", "Bearer "+b.token)
	resp, err := b.transport.RoundTrip(r)
	if err == nil && (resp.StatusCode == http.StatusUnauthorized || resp.StatusCode == http.StatusForbidden) {
		b.refused.Store(true)
	}
	return resp, err
}

// reviewed refuses tools that were not reviewed, and the lack of one.
func reviewed(tools []string) error {
	for _, name := range tools {
		if !slices.Contains(ReviewedTools, name) {
			return fault.New(fault.IntegrityFailed, "executor offers the tool %q, which was not reviewed", name).
				Hint("this version of hermes-box knows %s: use an Executor that offers these alone", strings.Join(ReviewedTools, " and "))
		}
	}
	for _, name := range ReviewedTools {
		if !slices.Contains(tools, name) {
			return fault.New(fault.HealthFailed, "executor offers no tool %q", name).Hint("hermes-box logs executor")
		}
	}
	return nil
}
