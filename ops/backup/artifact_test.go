package backup

import (
	"context"
	"crypto/sha256"
	"crypto/sha512"
	"encoding/hex"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"filippo.io/age"
)

// inCache puts a text into a cache and returns it as an artifact.
func inCache(t *testing.T, cache artifactDir, text string) Artifact {
	t.Helper()
	sum := sha256.Sum256([]byte(text))
	a := Artifact{text, "sha256:" + hex.EncodeToString(sum[:]), int64(len(text))}
	must(t, cache.put(t.Context(), a.Digest, a.Size, strings.NewReader(text)))
	return a
}

// artifactsIn lists the artifacts of a pool.
func artifactsIn(t *testing.T, p *Pool) (all []string) {
	t.Helper()
	paths, err := filepath.Glob(p.disk.path("artifacts/*/*"))
	must(t, err)
	for _, path := range paths {
		data, err := os.ReadFile(path)
		must(t, err)
		all = append(all, string(data))
	}
	slices.Sort(all)
	return all
}

// Artifacts are kept once, as hard links to the cache, and are removed when no listed bundle names them.
func TestArtifactsAreKeptWhileABundleNamesThem(t *testing.T) {
	p, _ := newPool(t)
	cache := artifactDir(t.TempDir())
	old, both, recent := inCache(t, cache, "old"), inCache(t, cache, "both"), inCache(t, cache, "recent")
	var ids []string
	for _, list := range [][]Artifact{{old, both}, {both, recent}} {
		for _, a := range list {
			must(t, p.KeepArtifact(t.Context(), a, cache))
		}
		ids = append(ids, save(t, p, many(3, 10), Meta{Artifacts: list}, nil, nil).ID)
	}
	must(t, p.KeepArtifact(t.Context(), inCache(t, cache, "of a killed backup"), cache))
	must(t, os.WriteFile(p.disk.path("artifacts/sha256/foreign"), nil, 0o600))
	must(t, p.Sweep(t.Context()))
	if have := artifactsIn(t, p); !slices.Equal(have, []string{"", "both", "old", "recent"}) {
		t.Errorf("kept %q", have)
	}
	must(t, p.Delete(t.Context(), ids[0], true, nil))
	if have := artifactsIn(t, p); !slices.Equal(have, []string{"", "both", "recent"}) {
		t.Errorf("kept %q", have)
	}
	name, err := artifactName(both.Digest)
	must(t, err)
	one, err := os.Stat(filepath.Join(string(cache), both.Digest))
	must(t, err)
	if two, err := os.Stat(p.disk.path(name)); err != nil || !os.SameFile(one, two) {
		t.Errorf("the artifact is not a hard link: %v", err)
	}
}

// changing is a cache whose files change after they were checked.
type changing struct{ artifactDir }

func (c changing) Open(ctx context.Context, digest string) (*os.File, error) {
	f, err := c.artifactDir.Open(ctx, digest)
	if err != nil {
		return nil, err
	}
	path := f.Name()
	if err := errors.Join(os.Rename(path, path+".old"), os.WriteFile(path, []byte("other"), 0o600)); err != nil {
		return nil, err
	}
	return f, nil
}

// If the file in the cache is replaced after the check, the artifact is copied instead of linked. An artifact that is
// cut off in the pool is replaced. A missing artifact, a wrong size, an invalid digest and a failing disk are errors,
// and nothing is kept.
func TestKeepArtifact(t *testing.T) {
	p, _ := newPool(t)
	cache := artifactDir(t.TempDir())
	a := inCache(t, cache, "right")
	must(t, p.KeepArtifact(t.Context(), a, changing{cache}))
	if have := artifactsIn(t, p); !slices.Equal(have, []string{"right"}) {
		t.Errorf("kept %q", have)
	}
	name, err := artifactName(a.Digest)
	must(t, err)
	must(t, os.WriteFile(p.disk.path(name), []byte("short"[:3]), 0o600)) // left by a crash
	must(t, os.Rename(filepath.Join(string(cache), a.Digest+".old"), filepath.Join(string(cache), a.Digest)))
	must(t, p.KeepArtifact(t.Context(), a, cache))
	if have := artifactsIn(t, p); !slices.Equal(have, []string{"right"}) {
		t.Errorf("kept %q", have)
	}
	must(t, p.disk.remove(name))
	for what, wrong := range map[string]Artifact{
		"missing": {"x", "sha256:" + strings.Repeat("0", 64), 1}, "size": {"x", a.Digest, a.Size + 1}, "digest": {"x", "sha256:../x", 1},
	} {
		if err := p.KeepArtifact(t.Context(), wrong, cache); err == nil {
			t.Errorf("%s: the artifact is kept", what)
		}
	}
	p.disk.before = func(op, _ string) error {
		if op == "sync" {
			return errors.New("the disk failed")
		}
		return nil
	}
	if err := p.KeepArtifact(t.Context(), a, changing{cache}); err == nil {
		t.Error("the artifact is kept although the disk failed")
	}
	if have := artifactsIn(t, p); len(have) > 0 {
		t.Errorf("kept %q", have)
	}
}

// VerifyArtifacts reads the artifacts, reports those that are missing or damaged without failing the backup, and
// removes damaged ones. Export then takes them from the cache.
func TestVerifyArtifacts(t *testing.T) {
	p, identity := newPool(t)
	cache := artifactDir(t.TempDir())
	good, damaged, missing := inCache(t, cache, "good"), inCache(t, cache, "damaged"), inCache(t, cache, "missing")
	for _, a := range []Artifact{good, damaged} {
		must(t, p.KeepArtifact(t.Context(), a, cache))
	}
	name, err := artifactName(damaged.Digest)
	must(t, err)
	must(t, os.Remove(p.disk.path(name))) // a hard link: the write would also damage the file in the cache
	must(t, os.WriteFile(p.disk.path(name), []byte("damageD"), 0o600))
	id := save(t, p, many(3, 10), Meta{Artifacts: []Artifact{good, damaged, missing}}, nil, nil).ID
	r, err := p.Verify(t.Context(), id, nil)
	must(t, err)
	must(t, p.VerifyArtifacts(t.Context(), r))
	if r.Artifacts != 1 || !slices.Equal(r.Missing, []string{"damaged: it was damaged, and is removed", "missing: it is missing"}) {
		t.Errorf("%+v", r)
	}
	if _, err := p.OpenArtifact(t.Context(), damaged.Digest); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the damaged one: %v", err)
	}
	file, err := os.Create(t.TempDir() + "/file")
	must(t, err)
	defer file.Close()
	must(t, Export(t.Context(), load(t, p, id), file, []age.Recipient{identity.Recipient()}, p.Artifacts(cache)))
	if list, _ := List(p.disk.dir); len(list) != 1 || !list[0].Good() {
		t.Errorf("%+v", list)
	}
}

// artifactName accepts digests only.
func TestArtifactName(t *testing.T) {
	sum := sha512.Sum512(nil)
	for digest, good := range map[string]bool{
		"sha256:" + strings.Repeat("a", 64): true, "sha512:" + hex.EncodeToString(sum[:]): true, "sha256:" + strings.Repeat("A", 64): false,
		"sha256:" + strings.Repeat("a", 63): false, "md5:" + strings.Repeat("a", 32): false, "": false, "sha256": false, "sha256:": false,
		"sha256:" + strings.Repeat("a", 62) + "/a": false,
	} {
		if name, err := artifactName(digest); (err == nil) != good {
			t.Errorf("%q: %q, %v", digest, name, err)
		}
	}
}
