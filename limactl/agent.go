package limactl

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"path/filepath"
	"time"
)

// agentLimit is the timeout of a request to a host agent.
const agentLimit = time.Second

// AgentAnswers sends a request to the host agent of an instance over its socket, without limactl. It returns nil if
// the agent answers within a second.
func (c *Client) AgentAnswers(ctx context.Context, name string) error {
	if err := checkName("instance", name); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, agentLimit)
	defer cancel()
	transport := &http.Transport{DisableKeepAlives: true, DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		var d net.Dialer
		return d.DialContext(ctx, "unix", filepath.Join(c.Dir(name), "ha.sock"))
	}}
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://lima-hostagent/v1/info", nil)
	if err != nil {
		return err
	}
	resp, err := transport.RoundTrip(req)
	if err != nil {
		return fmt.Errorf("host agent of instance %s: %w", name, err)
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return fmt.Errorf("host agent of instance %s: %s", name, resp.Status)
	}
	return nil
}
