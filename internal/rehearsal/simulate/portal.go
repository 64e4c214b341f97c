package simulate

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"hermes-box/guest/protocol"
)

// services lists the units that listen on a port, and for each the variable in ports.env that holds the port.
var services = []struct{ unit, variable string }{
	{"executor.service", "EXECUTOR_PORT"},
	{dashboardUnit, "DASHBOARD_PORT"},
}

// Listening returns the ports of guest loopback on which something listens now, each with its handler.
func (s *Machine) Listening() map[string]http.Handler {
	open := map[string]http.Handler{}
	ports, err := os.ReadFile(filepath.Join(s.root, protocol.StateDir, "ports.env"))
	if err != nil {
		return open
	}
	_ = s.view(func(st *state) {
		for _, service := range services {
			if st.Units[service.unit].Active != "active" {
				continue
			}
			for line := range strings.Lines(string(ports)) {
				if port, ok := strings.CutPrefix(strings.TrimSpace(line), service.variable+"="); ok {
					open[port] = s.portal(service.unit)
				}
			}
		}
	})
	return open
}

// portal handles the requests to a unit's port.
func (s *Machine) portal(unit string) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(io.LimitReader(r.Body, 1<<20))
		if err != nil {
			return
		}
		status, answer := s.answer(unit, r.Method, r.URL.Path, r.Header.Get("Authorization"), body)
		if json.Valid(answer) {
			w.Header().Set("Content-Type", "application/json")
		}
		w.WriteHeader(status)
		_, _ = w.Write(answer)
	})
}

// Get sends a request to a service on guest loopback.
func (s *Machine) Get(_ context.Context, address string, header map[string]string) (int, []byte, error) {
	return s.ask(http.MethodGet, address, header, nil)
}

// Post sends body to a service on guest loopback.
func (s *Machine) Post(_ context.Context, address string, header map[string]string, body []byte) (int, []byte, error) {
	return s.ask(http.MethodPost, address, header, body)
}

func (s *Machine) ask(method, address string, header map[string]string, body []byte) (int, []byte, error) {
	u, err := url.Parse(address)
	if err != nil {
		return 0, nil, err
	}
	if s.Listening()[u.Port()] == nil {
		return 0, nil, fmt.Errorf("dial tcp %s: connect: connection refused", u.Host)
	}
	unit := "executor.service"
	if u.Path == "/api/status" {
		unit = dashboardUnit
	}
	status, answer := s.answer(unit, method, u.Path, header["Authorization"], body)
	return status, answer, nil
}

func (s *Machine) answer(unit, method, path, authorization string, body []byte) (int, []byte) {
	if unit == dashboardUnit {
		if path == "/api/status" {
			return http.StatusOK, []byte(`{"status":"ok","gateway":"running"}`)
		}
		return http.StatusOK, []byte("demo: Hermes's dashboard would be here\n")
	}
	token, _ := os.ReadFile(filepath.Join(s.root, protocol.DataDir, "secrets/executor-token.env"))
	want := "Bearer " + strings.TrimPrefix(strings.TrimSpace(string(token)), "EXECUTOR_AUTH_TOKEN=")
	connected := filepath.Join(s.root, protocol.DataDir, "executor/connected")
	switch {
	case path == "/connect": // a visit to this page stands for connecting a service in the portal
		if err := os.WriteFile(connected, nil, 0o600); err != nil {
			return http.StatusInternalServerError, []byte(err.Error())
		}
		return http.StatusOK, []byte("demo: Executor has a service to call now.\n")
	case authorization != want:
		return http.StatusUnauthorized, []byte("demo: Executor's portal would ask for its token here.\nThe page /connect connects a service.\n")
	case path == "/api/health":
		return http.StatusOK, []byte(`{"status":"ok"}`)
	case path == "/api/connections":
		if _, err := os.Stat(connected); err != nil {
			return http.StatusOK, []byte(`[]`)
		}
		return http.StatusOK, []byte(`[{"id":"demo"}]`)
	case path == "/mcp" && method == http.MethodPost:
		return s.mcp(body)
	}
	return http.StatusNotFound, nil
}

// mcp implements the part of the Model Context Protocol that lists tools.
func (s *Machine) mcp(body []byte) (int, []byte) {
	var call struct {
		ID     json.RawMessage `json:"id"`
		Method string          `json:"method"`
		Params struct {
			ProtocolVersion string `json:"protocolVersion"`
		} `json:"params"`
	}
	if err := json.Unmarshal(body, &call); err != nil {
		return http.StatusBadRequest, nil
	}
	var result any
	switch call.Method {
	case "initialize":
		result = map[string]any{"protocolVersion": call.Params.ProtocolVersion, "capabilities": map[string]any{"tools": map[string]any{}},
			"serverInfo": map[string]string{"name": "executor", "version": "demo"}}
	case "tools/list":
		names := s.Tools
		if names == nil {
			names = []string{"execute", "resume"}
		}
		tools := []any{}
		for _, name := range slices.Sorted(slices.Values(names)) {
			tools = append(tools, map[string]any{"name": name, "description": "demo", "inputSchema": map[string]string{"type": "object"}})
		}
		result = map[string]any{"tools": tools}
	default:
		if len(call.ID) == 0 { // a notification
			return http.StatusAccepted, nil
		}
		answer, _ := json.Marshal(map[string]any{"jsonrpc": "2.0", "id": call.ID, "error": map[string]any{"code": -32601, "message": "no method " + call.Method}})
		return http.StatusOK, answer
	}
	answer, err := json.Marshal(map[string]any{"jsonrpc": "2.0", "id": call.ID, "result": result})
	if err != nil {
		return http.StatusBadRequest, nil
	}
	return http.StatusOK, answer
}
