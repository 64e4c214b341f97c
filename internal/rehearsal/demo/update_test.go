package demo

import (
	"archive/tar"
	"bytes"
	"encoding/json"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"hermes-box/guest"
	"hermes-box/guest/machine"
	"hermes-box/guest/protocol"
	"hermes-box/internal/rehearsal/userland"
	"hermes-box/ops/lock"
)

// transaction returns the transaction that applies the lock of a release, and a tar of the objects it needs.
func transaction(t *testing.T, d *Demo, release string) (protocol.Transaction, *bytes.Buffer) {
	t.Helper()
	l, err := lock.Load(d.Lock(release))
	if err != nil {
		t.Fatal(err)
	}
	tx := protocol.Transaction{ID: release, Lock: string(l.Canonical()), Ports: protocol.Ports{Executor: 4788, Dashboard: 9119}}
	var stream bytes.Buffer
	w := tar.NewWriter(&stream)
	send := func(digest string, data []byte) {
		if err := w.WriteHeader(&tar.Header{Name: strings.Replace(digest, ":", "/", 1), Mode: 0o644, Size: int64(len(data))}); err != nil {
			t.Fatal(err)
		}
		w.Write(data)
	}
	blob := func(digest string) []byte {
		return []byte(read(t, filepath.Join(d.Mirror, strings.Replace(digest, ":", "/", 1))))
	}
	for _, name := range lock.Order {
		from := l.Components[name]
		to := protocol.Component{Name: name, Version: from.Version}
		if from.Python != nil {
			to.Python = &protocol.Python{Version: from.Python.Version}
		}
		for _, a := range from.Artifacts {
			out := protocol.Artifact{Name: a.Name, Digest: a.Digest}
			if a.IsImage() {
				manifest := blob(a.Digest)
				send(a.Digest, manifest)
				type blobOf struct{ Digest string }
				var m struct {
					Config blobOf
					Layers []blobOf
				}
				if err := json.Unmarshal(manifest, &m); err != nil {
					t.Fatal(err)
				}
				for _, part := range append(m.Layers, m.Config) {
					send(part.Digest, blob(part.Digest))
					out.Blobs = append(out.Blobs, part.Digest)
				}
			} else {
				u, err := url.Parse(a.URL)
				if err != nil {
					t.Fatal(err)
				}
				send(a.Digest, []byte(read(t, u.Path)))
			}
			to.Artifacts = append(to.Artifacts, out)
		}
		tx.Components = append(tx.Components, to)
	}
	w.Close()
	return tx, &stream
}

// The engine can apply one release after the other, and the first one again.
func TestEveryReleaseCanBeApplied(t *testing.T) {
	d := open(t, t.TempDir())
	m := userland.Machine{Root: t.TempDir()}
	g, err := m.Prepare([]userland.Disk{{Dir: t.TempDir(), Size: 1 << 30}})
	if err != nil {
		t.Fatal(err)
	}
	ask := protocol.Bootstrap{Box: Name, DataDevice: "/dev/vdb", Format: true, Ports: protocol.Ports{Executor: 4788, Dashboard: 9119}}
	if _, err := g.Bootstrap(t.Context(), ask); err != nil {
		t.Fatal(err)
	}
	for _, release := range []string{"demo-1", "demo-2", "demo-1"} {
		tx, objects := transaction(t, d, release)
		if _, err := g.Objects().Receive(t.Context(), objects); err != nil {
			t.Fatal(err)
		}
		if _, err := g.Apply(t.Context(), tx); err != nil {
			t.Fatalf("%s: %v", release, err)
		}
		s, err := g.Status(t.Context())
		if err != nil || len(s.Components) != len(lock.Order) {
			t.Fatalf("%+v, %v", s, err)
		}
		for _, c := range s.Components {
			if c.Applied != release || c.State != protocol.Healthy && c.State != protocol.SetupRequired {
				t.Errorf("%s: %+v", release, c)
			}
		}
		v, err := g.Versions(t.Context())
		if err != nil || len(v.Components) != len(lock.Order) {
			t.Fatalf("%+v, %v", v, err)
		}
		for _, c := range v.Components {
			if c.Problem != "" {
				t.Errorf("%s %s: %s", c.Name, release, c.Problem)
			}
		}
		signIn(t, g)
	}
}

// signIn signs in as a person would, by answering the programs' questions, and checks that every component is then
// healthy. At the end it removes the credentials.
func signIn(t *testing.T, g *guest.Guest) {
	t.Helper()
	home := g.Path(protocol.DataDir, "home/agent")
	for _, step := range []struct{ command, answer string }{
		{"claude auth login", "code\n"},
		{"codex login --device-auth", "\n"},
		{"hermes setup", "key\nmodel\n"},
	} {
		args := strings.Fields(step.command)
		_, err := g.Machine.Run(t.Context(), machine.Cmd{Path: g.Path("/usr/local/bin", args[0]), Args: args[1:],
			Env: []string{"HOME=" + home, "PATH=/usr/bin:/bin"}, Stdin: strings.NewReader(step.answer)})
		if err != nil {
			t.Errorf("%s: %v", step.command, err)
		}
	}
	s, err := g.Status(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range s.Components {
		if c.State != protocol.Healthy {
			t.Errorf("after signing in, %s is %s: %s", c.Name, c.State, c.Detail)
		}
	}
	for _, file := range []string{".claude/.credentials.json", ".codex/auth.json", ".hermes/.env"} {
		info, err := os.Stat(filepath.Join(home, file))
		if err != nil || info.Mode().Perm()&0o077 != 0 {
			t.Errorf("%s: %v, %v", file, info, err)
		}
		if err := os.Remove(filepath.Join(home, file)); err != nil {
			t.Error(err)
		}
	}
	os.Remove(filepath.Join(home, ".hermes/config.yaml"))
}
