package guest

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"time"

	"golang.org/x/sys/unix"
)

// machine is the System of a real guest: systemd, podman, dpkg and the kernel.
type machine struct {
	http *http.Client
}

// NewMachine acts on the machine it runs on. What it changes needs root; what it reads does not.
func NewMachine() System {
	return &machine{http: &http.Client{
		// No proxy: loopback is asked directly, whatever the environment says.
		Transport:     &http.Transport{Proxy: nil, DisableKeepAlives: true},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		Timeout:       30 * time.Second,
	}}
}

// maxAnswer is how much of a service's answer is read.
const maxAnswer = 1 << 20

func (m *machine) Get(ctx context.Context, url string, header map[string]string) (int, []byte, error) {
	return m.ask(ctx, http.MethodGet, url, header, nil)
}

func (m *machine) Post(ctx context.Context, url string, header map[string]string, body []byte) (int, []byte, error) {
	return m.ask(ctx, http.MethodPost, url, header, body)
}

func (m *machine) ask(ctx context.Context, method, url string, header map[string]string, body []byte) (int, []byte, error) {
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

// Sync writes everything out. The kernel cannot be told to give up, so ctx only ends the waiting.
func (m *machine) Sync(ctx context.Context) error {
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
