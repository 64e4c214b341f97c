package ops

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"hermes-box/ops/fault"
)

const goodToken = "0123456789abcdef"

// endpoint starts an MCP server that offers these tools to clients with goodToken, and returns its URL.
func endpoint(t *testing.T, tools ...string) string {
	t.Helper()
	server := mcp.NewServer(&mcp.Implementation{Name: "executor", Version: "1"}, nil)
	for _, name := range tools {
		mcp.AddTool(server, &mcp.Tool{Name: name}, func(context.Context, *mcp.CallToolRequest, struct{}) (*mcp.CallToolResult, any, error) {
			return nil, nil, errors.New("nobody calls it here")
		})
	}
	handler := mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return server }, nil)
	return serve(t, func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") != "Bearer "+goodToken {
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		handler.ServeHTTP(w, r)
	})
}

func serve(t *testing.T, h http.HandlerFunc) string {
	t.Helper()
	s := httptest.NewServer(h)
	t.Cleanup(s.Close)
	return s.URL + "/mcp"
}

func TestExecutorTools(t *testing.T) {
	for _, c := range []struct {
		tools []string
		want  string // error of the review; empty if it passes
	}{
		{[]string{"resume", "execute"}, ""},
		{[]string{"execute", "resume", "format_disk"}, `"format_disk", which was not reviewed`},
		{[]string{"resume"}, `no tool "execute"`},
		{nil, `no tool "execute"`},
	} {
		got, err := ExecutorTools(t.Context(), endpoint(t, c.tools...), goodToken)
		if err != nil || !slices.Equal(got, slices.Sorted(slices.Values(c.tools))) {
			t.Errorf("%v: %v, %v", c.tools, got, err)
		}
		if err := reviewed(got); c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("%v: %v", c.tools, err)
		}
	}
}

// Whatever the failure of an endpoint is, the error describes it and does not contain the token.
func TestExecutorToolsRefuses(t *testing.T) {
	var stolen atomic.Bool
	thief := serve(t, func(_ http.ResponseWriter, r *http.Request) {
		stolen.Store(stolen.Load() || r.Header.Get("Authorization") != "")
	})
	gone := httptest.NewServer(nil)
	gone.Close()
	for name, c := range map[string]struct {
		url, token, want string
		code             fault.Code
	}{
		"wrong token": {endpoint(t, ReviewedTools...), "fedcba9876543210", "executor does not accept this token", fault.PreflightFailed},
		"no server":   {gone.URL + "/mcp", goodToken, "connection refused", fault.HealthFailed},
		"no MCP":      {serve(t, func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "<html>") }), goodToken, "the MCP endpoint", fault.HealthFailed},
		"the answer repeats the token": {serve(t, func(w http.ResponseWriter, r *http.Request) {
			http.Error(w, r.Header.Get("Authorization"), http.StatusTeapot)
		}), goodToken, "the MCP endpoint", fault.HealthFailed},
		"a redirect": {serve(t, func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, thief, http.StatusTemporaryRedirect) }), goodToken,
			"the MCP endpoint", fault.HealthFailed},
	} {
		got, err := ExecutorTools(t.Context(), c.url, c.token)
		if err == nil || fault.CodeOf(err) != c.code || !strings.Contains(err.Error(), c.want) || got != nil {
			t.Errorf("%s: %v, %v", name, got, err)
		}
		if text := fmt.Sprintf("%+v %s", err, fault.HintOf(err)); strings.Contains(text, c.token) {
			t.Errorf("%s: the error contains the token: %s", name, text)
		}
	}
	if stolen.Load() {
		t.Error("the token was sent to the target of a redirect")
	}
}

// Waiting for an endpoint that does not answer ends with the context.
func TestExecutorToolsSilence(t *testing.T) {
	asked := make(chan struct{}, 1)
	ctx, cancel := context.WithCancel(t.Context())
	url := serve(t, func(_ http.ResponseWriter, r *http.Request) {
		select {
		case asked <- struct{}{}:
		default:
		}
		<-ctx.Done()
	})
	go func() { <-asked; cancel() }()
	if got, err := ExecutorTools(ctx, url, goodToken); err == nil {
		t.Errorf("%v", got)
	}
}

func TestSetupExecutorRefusesInvalidTokens(t *testing.T) {
	for _, text := range []string{"", "a b", "a\nb", "a\x00", "ü", "\"a\"", strings.Repeat("a", 5000), "=a"} {
		_, err := new(Box).SetupExecutor(t.Context(), text, nil)
		if fault.CodeOf(err) != fault.InvalidInput {
			t.Errorf("%.10q: %v", text, err)
		}
	}
}
