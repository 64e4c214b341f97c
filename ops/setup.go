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

// ReviewedTools are the tools that Executor's MCP endpoint may offer. Others are refused until they are reviewed.
var ReviewedTools = []string{"execute", "resume"}

// ExecutorSetup is the result of SetupExecutor.
type ExecutorSetup struct {
	Already bool     `json:"already"` // Hermes already had the token; nothing was changed
	Tools   []string `json:"tools"`   // the tools of Executor that Hermes found
}

// SetupExecutor gives Hermes the token of Executor. The token is first tried on the forwarded port, where Executor must
// offer exactly the reviewed tools; then Hermes gets it, is restarted and must find the same tools. If that fails,
// Hermes stays as it was. The token is sent on stdin, and is in no log, argument or error.
func (b *Box) SetupExecutor(ctx context.Context, token string, sink Sink) (*ExecutorSetup, error) {
	if !protocol.ValidToken(token) {
		return nil, errToken
	}
	var linked protocol.ExecutorLinked
	err := b.change(ctx, "setup", false, sink, func(ctx context.Context) (Plan, error) {
		if err := b.reachable(ctx); err != nil {
			return Plan{}, err
		}
		return Plan{Steps: []Step{
			{ID: "token", Title: "try the token with Executor", Do: func(ctx context.Context, _ *Progress) error {
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
			{ID: "hermes", Title: "give the token to Hermes", Do: func(ctx context.Context, p *Progress) error {
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

var errToken = fault.New(fault.InvalidInput, "this is not a token: a token has only letters, digits and -._~+/=").
	Hint("%s", ShowToken)

// toolsBound is how long an MCP endpoint may take to list its tools; emulated CPUs are slow.
const toolsBound = time.Minute

// ExecutorTools returns the sorted names of the tools that an MCP endpoint offers with a token.
func ExecutorTools(ctx context.Context, url, token string) ([]string, error) {
	ctx, cancel := context.WithTimeout(ctx, toolsBound)
	defer cancel()
	bearer := &bearer{token: token, transport: &http.Transport{}} // without a proxy, since the endpoint is on loopback
	defer bearer.transport.CloseIdleConnections()
	names, err := listTools(ctx, &mcp.StreamableClientTransport{
		Endpoint: url,
		HTTPClient: &http.Client{Transport: bearer, CheckRedirect: func(*http.Request, []*http.Request) error {
			return http.ErrUseLastResponse // the token is only for this address
		}},
		MaxRetries: -1,
		// Executor answers the standing GET request only when it has an event to send, and Connect would wait for
		// that.
		DisableStandaloneSSE: true,
	})
	switch {
	case err == nil:
		return names, nil
	case bearer.refused.Load():
		return nil, fault.New(fault.PreflightFailed, "executor does not accept this token").Hint("to see the right one: %s", ShowToken)
	case strings.Contains(err.Error(), token): // the error may quote an answer that repeats the token
		err = errors.New("the answer repeats the token")
	}
	return nil, fault.New(fault.HealthFailed, "the MCP endpoint %s: %w", url, err).Hint("hermes-box logs executor")
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

// bearer adds the token to each request and remembers if it was refused.
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

// reviewed returns an error if a tool was not reviewed, or a reviewed one is missing.
func reviewed(tools []string) error {
	for _, name := range tools {
		if !slices.Contains(ReviewedTools, name) {
			return fault.New(fault.IntegrityFailed, "executor offers the tool %q, which was not reviewed", name).
				Hint("this version of hermes-box allows %s: use an Executor with only these", strings.Join(ReviewedTools, " and "))
		}
	}
	for _, name := range ReviewedTools {
		if !slices.Contains(tools, name) {
			return fault.New(fault.HealthFailed, "executor offers no tool %q", name).Hint("hermes-box logs executor")
		}
	}
	return nil
}
