package machine

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"time"

	"golang.org/x/sys/unix"
)

// Machine is the machine this process runs on. Changing it needs root, and so do some reads.
type Machine struct {
	http    *http.Client
	bus     bus
	watched *watched // nil: systemd is asked each time
}

// New returns the machine this process runs on.
func New() *Machine {
	return &Machine{http: &http.Client{
		// No proxy: requests to loopback are direct, whatever the environment says.
		Transport:     &http.Transport{Proxy: nil, IdleConnTimeout: time.Minute},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		Timeout:       30 * time.Second,
	}}
}

// Watch makes Units keep the answer of systemd until one of the units changes, at most 15 seconds. It is for a
// long-running process.
func (m *Machine) Watch() { m.watched = &watched{} }

// maxAnswer is how many bytes of an answer are read at most.
const maxAnswer = 1 << 20

// Get sends a request to a service on loopback. Redirects are not followed, and the answer is cut at 1 MiB.
func (m *Machine) Get(ctx context.Context, url string, header map[string]string) (int, []byte, error) {
	return m.ask(ctx, http.MethodGet, url, header, nil)
}

// Post sends body to a service on loopback. Redirects are not followed, and the answer is cut at 1 MiB.
func (m *Machine) Post(ctx context.Context, url string, header map[string]string, body []byte) (int, []byte, error) {
	return m.ask(ctx, http.MethodPost, url, header, body)
}

func (m *Machine) ask(ctx context.Context, method, url string, header map[string]string, body []byte) (int, []byte, error) {
	req, err := http.NewRequestWithContext(ctx, method, url, bytes.NewReader(body))
	if err != nil {
		return 0, nil, err
	}
	for k, v := range header {
		req.Header.Set(k, v)
	}
	resp, err := m.http.Do(req)
	if err != nil {
		return 0, nil, err
	}
	defer resp.Body.Close()
	answer, err := io.ReadAll(io.LimitReader(resp.Body, maxAnswer))
	return resp.StatusCode, answer, err
}

// Sync writes all dirty pages to the disks. The kernel offers no way to cancel that, so ctx only ends the wait.
func (m *Machine) Sync(ctx context.Context) error {
	done := make(chan struct{})
	go func() {
		unix.Sync()
		close(done)
	}()
	select {
	case <-done:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("sync the disks: %w", ctx.Err())
	}
}
