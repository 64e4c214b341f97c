package backup

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"filippo.io/age"

	"hermes-box/guest/protocol/tree"
	"hermes-box/ops/fault"
)

// artifactDir is a cache of artifacts: a directory of files named by digest.
type artifactDir string

func (d artifactDir) Open(_ context.Context, digest string) (*os.File, error) {
	return os.Open(filepath.Join(string(d), digest))
}

func (d artifactDir) put(_ context.Context, digest string, size int64, r io.Reader) error {
	data, err := io.ReadAll(r)
	if err != nil {
		return err
	}
	if sum := sha256.Sum256(data); digest != "sha256:"+hex.EncodeToString(sum[:]) || int64(len(data)) != size {
		return fmt.Errorf("%s has another digest", digest)
	}
	return os.WriteFile(filepath.Join(string(d), digest), data, 0o600)
}

// portable returns the tree that odd returns, but with smaller holes, since a tar holds zeros for them, and without
// files that were read in part. It adds deeply nested directories and a large file.
func portable() *forest {
	f := &forest{problems: []tree.Problem{{Path: []byte("gone"), Reason: "permission denied"}}}
	for _, file := range odd().files {
		if file.Size < 1<<20 {
			f.files = append(f.files, file)
		}
	}
	f.add(tree.Entry{Path: []byte("hole"), Type: tree.File, Mode: 0o600, Size: 3 << 20, Sparse: true,
		Segments: []tree.Segment{{Offset: 4096, Length: 3}, {Offset: 2 << 20, Length: 70_000}}}, noise(5, 70_003))
	f.add(tree.Entry{Path: []byte("allhole"), Type: tree.File, Size: 1 << 20, Sparse: true}, nil)
	f.add(tree.Entry{Path: []byte("deep"), Type: tree.Dir, Mode: 0o755}, nil)
	path := "deep"
	for range 20 {
		path += "/" + strings.Repeat("p", 200)
		f.add(tree.Entry{Path: []byte(path), Type: tree.Dir, Mode: 0o755}, nil)
	}
	f.regular(path+"/file", []byte("far down"))
	f.regular("big", noise(9, 3<<20))
	return f
}

// exported exports a backup of a tree with one artifact.
func exported(t testing.TB, f *forest, to ...age.Recipient) (file []byte, env *Envelope, digest string) {
	t.Helper()
	cache := artifactDir(t.TempDir())
	sum := sha256.Sum256([]byte("artifact"))
	digest = "sha256:" + hex.EncodeToString(sum[:])
	must(t, cache.put(t.Context(), digest, 8, strings.NewReader("artifact")))
	p, _ := newPool(t)
	env = save(t, p, f, Meta{Box: "main", Label: "x", Lock: "the lock\n", Artifacts: []Artifact{{"node", digest, 8}, {"node again", digest, 8}}}, nil, nil)
	var out bytes.Buffer
	must(t, Export(t.Context(), load(t, p, env.ID), &out, to, cache))
	return out.Bytes(), env, digest
}

// An exported backup is imported into another pool as it was, for recipients and for a passphrase.
func TestExportAndImport(t *testing.T) {
	t.Parallel()
	identity, _ := newIdentity(t)
	another, _ := newIdentity(t)
	pass, err := age.NewScryptRecipient("correct horse")
	must(t, err)
	pass.SetWorkFactor(10)
	unlock, err := age.NewScryptIdentity("correct horse")
	must(t, err)
	for name, c := range map[string]struct {
		f  *forest
		to []age.Recipient
		by age.Identity
	}{
		"odd":        {portable(), []age.Recipient{another.Recipient(), identity.Recipient()}, identity},
		"large":      {large(), []age.Recipient{identity.Recipient()}, identity},
		"passphrase": {many(300, 3000), []age.Recipient{pass}, unlock},
		"empty":      {&forest{}, []age.Recipient{pass}, unlock},
	} {
		t.Run(name, func(t *testing.T) {
			file, env, digest := exported(t, c.f, c.to...)
			p, _ := newPool(t)
			h, err := p.Examine(t.Context(), bytes.NewReader(file), c.by)
			if must(t, err); h.ID != env.ID || h.Summary.Entries != env.Entries || h.Summary.Bytes != env.Bytes {
				t.Errorf("examined: %+v", h)
			}
			if list, _ := List(p.disk.dir); len(list) > 0 {
				t.Errorf("Examine listed %v", list)
			}
			cache := artifactDir(t.TempDir())
			got, err := p.Import(t.Context(), bytes.NewReader(file), cache.put, nil, c.by)
			must(t, err)
			b := load(t, p, got.ID)
			if got.ID != env.ID || b.Lock != "the lock\n" || len(b.Artifacts) != 2 || b.Summary.Digest == "" || got.Problems != len(c.f.problems) {
				t.Errorf("imported %+v", got)
			}
			compare(t, b, c.f)
			if data, err := os.ReadFile(filepath.Join(string(cache), digest)); err != nil || string(data) != "artifact" {
				t.Errorf("artifact %q, %v", data, err)
			}
			if _, err := p.Import(t.Context(), bytes.NewReader(file), cache.put, nil, c.by); err == nil {
				t.Error("a second import of the same backup returned no error")
			}
			if _, err := p.Import(t.Context(), bytes.NewReader(file), cache.put, nil, p.secrets.identity); err == nil {
				t.Error("an identity that is not a recipient can import the backup")
			}
		})
	}
}

// An exported backup is opened by hand with the three commands that the README shows: age, zstd and tar.
func TestExportOpensByHand(t *testing.T) {
	for _, tool := range []string{"zstd", "tar"} {
		if _, err := exec.LookPath(tool); err != nil {
			t.Skip("NOT CHECKED:", err)
		}
	}
	identity, _ := newIdentity(t)
	f := portable()
	file, _, digest := exported(t, f, identity.Recipient())
	dir := t.TempDir()
	for name, data := range map[string][]byte{"main.hermes-box": file, "main.age-identity": []byte(identity.String() + "\n")} {
		must(t, os.WriteFile(filepath.Join(dir, name), data, 0o600))
	}
	if _, err := exec.LookPath("age"); err != nil {
		t.Log("NOT CHECKED: age is not installed; its Go package decrypts instead")
		plain, err := age.Decrypt(bytes.NewReader(file), identity)
		must(t, err)
		text, err := io.ReadAll(plain)
		must(t, err)
		must(t, os.WriteFile(filepath.Join(dir, "main.tar.zst"), text, 0o600))
	} else {
		byHand(t, dir, "age -d -i main.age-identity -o main.tar.zst main.hermes-box")
	}
	byHand(t, dir, "zstd -d main.tar.zst")
	byHand(t, dir, "tar -x -f main.tar --no-same-owner --exclude=data/null --warning=no-unknown-keyword")
	for name, want := range map[string]string{"hermes-box.lock": "the lock\n", "artifacts/" + strings.Replace(digest, ":", "/", 1): "artifact"} {
		if data, err := os.ReadFile(filepath.Join(dir, name)); err != nil || string(data) != want {
			t.Errorf("%s: %q, %v", name, data, err)
		}
	}
	for _, want := range f.files {
		path := filepath.Join(dir, "data", string(want.Path))
		info, err := os.Lstat(path)
		if want.Type == tree.Socket || want.Type == tree.Char {
			continue
		}
		if len(path) > 4000 {
			continue // too long for one system call
		}
		if err != nil {
			t.Error(err)
			continue
		}
		switch {
		case want.Type == tree.Symlink:
			if target, _ := os.Readlink(path); target != string(want.Target) {
				t.Errorf("%q is a link to %q", want.Path, target)
			}
		case want.Type == tree.File && want.Link == nil:
			data, err := os.ReadFile(path)
			must(t, err)
			whole := want.data
			if want.Sparse {
				whole = make([]byte, want.Size)
				from := 0
				for _, s := range want.Segments {
					from += copy(whole[s.Offset:s.Offset+s.Length], want.data[from:])
				}
			}
			if !bytes.Equal(data, whole) || uint32(info.Mode().Perm()) != want.Mode&0o777 {
				t.Errorf("%q has %d bytes, mode %v", want.Path, len(data), info.Mode())
			}
		}
	}
}

// byHand runs a command of the README, which may be followed by options that only this test needs.
func byHand(t *testing.T, dir, command string) {
	t.Helper()
	readme, err := os.ReadFile("../../README.md")
	must(t, err)
	shown, _, _ := strings.Cut(command, " --")
	if !strings.Contains(string(readme), "\n    "+shown+"\n") {
		t.Errorf("the README does not show %q", shown)
	}
	cmd := exec.Command("sh", "-c", command)
	cmd.Dir = dir
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%s: %v: %s", command, err, out)
	}
}

// A backup whose time is more than a day ahead is not imported.
func TestImportFromTheFuture(t *testing.T) {
	identity, _ := newIdentity(t)
	file, env, _ := exported(t, &forest{}, identity.Recipient())
	for before, refused := range map[time.Duration]bool{23 * time.Hour: false, 25 * time.Hour: true, 200 * 365 * 24 * time.Hour: true} {
		p, _ := newPool(t)
		p.now = func() time.Time { return env.Time.Add(-before) }
		_, err := p.Import(t.Context(), bytes.NewReader(file), artifactDir(t.TempDir()).put, nil, identity)
		if refused != (fault.CodeOf(err) == fault.PreflightFailed && strings.Contains(err.Error(), "the clock of this machine says")) || !refused && err != nil {
			t.Errorf("%v before it was made: %v", before, err)
		}
		if list, _ := p.listed(); len(list) > 0 == refused {
			t.Errorf("%v before it was made, listed: %v", before, list)
		}
	}
}

// An exported file that is damaged, cut off or too long is refused, and nothing is listed.
func TestDamagedExport(t *testing.T) {
	t.Parallel()
	identity, _ := newIdentity(t)
	f := &forest{}
	f.add(tree.Entry{Path: []byte("."), Type: tree.Dir}, nil)
	f.regular("a", []byte("hello"))
	file, _, _ := exported(t, f, identity.Recipient())
	p, _ := newPool(t)
	cache := artifactDir(t.TempDir())
	damage(t, file, func(what string, data []byte) {
		if _, err := p.Examine(t.Context(), bytes.NewReader(data), identity); err == nil {
			t.Errorf("%s: Examine returned no error", what)
		}
		if _, err := p.Import(t.Context(), bytes.NewReader(data), cache.put, nil, identity); err == nil {
			t.Errorf("%s: Import returned no error", what)
		}
		if list, _ := List(p.disk.dir); len(list) != 0 {
			t.Fatalf("%s: the backup is listed", what)
		}
	})
	_, err := p.Import(t.Context(), bytes.NewReader(file), cache.put, nil, identity)
	must(t, err)
}

// The error about an exported file that cannot be opened never blames the identity alone if the file is damaged. If the
// damage is in the part of the header that only the right identity can check, the error names both causes.
func TestDamageOrTheWrongIdentity(t *testing.T) {
	t.Parallel()
	identity, _ := newIdentity(t)
	stranger, _ := newIdentity(t)
	pass, err := age.NewScryptRecipient("x")
	must(t, err)
	pass.SetWorkFactor(2)
	right, err := age.NewScryptIdentity("x")
	must(t, err)
	wrong, err := age.NewScryptIdentity("y")
	must(t, err)
	f := &forest{}
	f.add(tree.Entry{Path: []byte("."), Type: tree.Dir}, nil)
	file, _, _ := exported(t, f, identity.Recipient())
	locked, _, _ := exported(t, f, pass)
	for _, c := range []struct {
		name string
		file []byte
		with []age.Identity
		want string
	}{
		{"another identity", file, []age.Identity{stranger}, "the key does not open the file: it was exported for other recipients, or its beginning is damaged"},
		{"no identity", file, nil, "opening the file needs an identity, and there is none here"},
		{"another passphrase", locked, []age.Identity{wrong}, "the passphrase does not open the file: it was exported with another one, or its beginning is damaged"},
		{"an identity instead of the passphrase", locked, []age.Identity{stranger}, "opening the file needs a passphrase, and none was given"},
		{"another kind", bytes.Replace(file, []byte("-> X25519"), []byte("-> X25520"), 1), []age.Identity{identity}, "the file is damaged, or is not an exported backup"},
		{"another version", bytes.Replace(file, []byte("/v1"), []byte("/v2"), 1), []age.Identity{identity}, "the file is damaged, or is not an exported backup"},
		{"empty", nil, []age.Identity{identity}, "the file is damaged, or is not an exported backup"},
	} {
		if _, err := Decrypt(bytes.NewReader(c.file), c.with...); err == nil || !strings.Contains(err.Error(), c.want) ||
			fault.CodeOf(err) != fault.IntegrityFailed || fault.HintOf(err) == "" {
			t.Errorf("%s: %v", c.name, err)
		}
	}
	certain, both := 0, 0
	for _, c := range []struct {
		file []byte
		with age.Identity
	}{{file, identity}, {locked, right}} {
		header := bytes.Index(c.file, []byte("\n--- ")) + 49 // the header ends after the line with its MAC
		for i := range header {
			data := bytes.Clone(c.file)
			data[i] ^= 0x41
			_, err := Decrypt(bytes.NewReader(data), c.with)
			switch {
			case err == nil || fault.HintOf(err) == "" || !strings.Contains(err.Error(), "damaged"):
				t.Errorf("byte %d changed: %v", i, err)
			case strings.Contains(err.Error(), "the file is damaged"):
				certain++
			default:
				both++
			}
		}
	}
	if t.Logf("for %d bytes the error names only damage, for %d both causes", certain, both); certain < both {
		t.Error("the error names both causes for most bytes")
	}
}

// A chunk that is damaged makes Export fail, and so does an artifact that is missing.
func TestExportChecks(t *testing.T) {
	identity, _ := newIdentity(t)
	p, _ := newPool(t)
	env := save(t, p, many(10, 100), Meta{Artifacts: []Artifact{{"node", "sha256:00", 1}}}, nil, nil)
	b := load(t, p, env.ID)
	if err := Export(t.Context(), b, io.Discard, []age.Recipient{identity.Recipient()}, artifactDir(t.TempDir())); err == nil {
		t.Error("no error, although an artifact is missing")
	}
	b.Artifacts = nil
	must(t, flip(p, chunkName(b.Chunks[0].ID), 300))
	if err := Export(t.Context(), b, io.Discard, []age.Recipient{identity.Recipient()}, nil); err == nil {
		t.Error("a damaged chunk is exported")
	}
}
