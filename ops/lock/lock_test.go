package lock

import (
	"bytes"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"hermes-box/ops/fault"
)

func TestSampleIsCanonical(t *testing.T) {
	l := sample(t)
	if got := string(l.Canonical()); got != sampleText {
		t.Errorf("got\n%s", got)
	}
	if len(l.Components) != len(Order) || l.Components["hermes"].Python.Version != "3.13" || l.Image.Kernel.Size != 9000000 {
		t.Errorf("got %+v", l)
	}
}

// A lock has one canonical text, however it is written.
func TestCanonicalOfAnotherSpelling(t *testing.T) {
	other := "# reviewed by hand\n" + strings.NewReplacer(
		"lima:\n  version: 2.1.3\narch: arm64\n", "arch: \"arm64\"\nlima: {version: '2.1.3'}\n",
		"    version: 24.17.0\n    source: pkg:generic/node@24.17.0\n", "    source: pkg:generic/node@24.17.0 # from its own site\n    version: 24.17.0\n",
	).Replace(sampleText)
	l, err := Parse("f", []byte(other))
	if err != nil {
		t.Fatal(err)
	}
	if string(l.Canonical()) != sampleText || l.Digest() != sample(t).Digest() {
		t.Errorf("got\n%s", l.Canonical())
	}
}

// Text that has a meaning in YAML is quoted, so that Parse returns the same text.
func TestCanonicalOfHostileText(t *testing.T) {
	for _, text := range []string{
		"true", "yes", "null", "~", "- x", "# x", "x # y", "a: b", "a:", ": a", "{", "}", "[]", "'", `"`, `\`, "*a", "&a", "!t", "|", ">-", "%", "@", "`",
		"0x10", "010", "1_000", "1e3", ".inf", "NaN", "1:2", "2026-01-01", "<<", "=", "?", "? x", "---", "...", "é", "日本", "\U0001f4e6", ",", "x,y: {z}", "a  b", "\u2019",
		strings.Repeat("root=/dev/vda rw ", 100) + "x",
	} {
		l := sample(t)
		l.Image.Name, l.Image.Kernel.Cmdline = text, text
		again, err := Parse("canonical", l.Canonical())
		if err != nil {
			t.Errorf("%q: %v", text, err)
			continue
		}
		if !reflect.DeepEqual(l, again) || !bytes.Equal(again.Canonical(), l.Canonical()) {
			t.Errorf("%q came back as %q, %q", text, again.Image.Name, again.Image.Kernel.Cmdline)
		}
	}
}

// A lock needs neither a kernel nor packages, and Hermes needs no Python artifact.
func TestOptionalKeys(t *testing.T) {
	text := cut(sampleText, "  kernel:\n", "packages:\n")
	text = cut(text, "packages:\n", "components:\n")
	text = strings.Replace(text, "      artifact: cpython.tar.gz\n", "", 1)
	l, err := Parse("f", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	if l.Image.Kernel != nil || l.Image.Initrd != nil || l.Packages != nil || l.Components["hermes"].Python.Artifact != "" {
		t.Errorf("got %+v", l)
	}
	if string(l.Canonical()) != text {
		t.Errorf("got\n%s", l.Canonical())
	}
}

// cut removes the text from the first begin up to the next end.
func cut(s, begin, end string) string {
	i := strings.Index(s, begin)
	return s[:i] + s[i+strings.Index(s[i:], end):]
}

func TestRefusals(t *testing.T) {
	node := sha256Of("node")
	for _, c := range []struct{ name, old, new, want string }{
		{"schema", "schema: 1", "schema: 2", "f:1: schema: found the number 2; accepted: 1"},
		{"no lima", "lima:\n  version: 2.1.3\n", "", "lima: found no such key; accepted: a mapping"},
		{"lima range", "2.1.3", "~2.1", `f:3: lima.version: found "~2.1"; accepted: a release of Lima, such as 2.1.3`},
		{"lima with v", "2.1.3", "v2.1.3", `f:3: lima.version: found "v2.1.3"`},
		{"lima pre-release", "2.1.3", "2.1.3-rc.1", `f:3: lima.version: found "2.1.3-rc.1"`},
		{"arch", "arch: arm64", "arch: riscv64", `f:4: arch: found "riscv64"; accepted: amd64 or arm64`},
		{"arch by its other name", "arch: arm64", "arch: x86_64", `f:4: arch: found "x86_64"; accepted: amd64 or arm64`},
		{"unknown", "arch: arm64", "arch: arm64\nkernel: x", "f:5: kernel: found an unknown key; accepted: schema, lima, arch, image, packages, components"},
		{"no url", "    url: file:///mirror/vmlinuz\n", "", "image.kernel.url: found no such key"},
		{"size zero", "size: 700000000", "size: 0", "f:10: image.disk.size: found the number 0; accepted: a whole number from 1 to"},
		{"size with unit", "size: 700000000", "size: 700MiB", `f:10: image.disk.size: found "700MiB"`},
		{"digest short", "digest: " + node, "digest: " + node[:70], `components.node.artifacts[0].digest: found "` + node[:70] + `"; accepted: sha256:<64 lower-case hex> or sha512-<base64 of 64 bytes>`},
		{"digest in capitals", "digest: " + node, "digest: sha256:" + strings.ToUpper(node[7:]), "components.node.artifacts[0].digest: found"},
		{"digest of another kind", "digest: " + node, "digest: md5:d41d8cd98f00b204e9800998ecf8427e", `found "md5:d41d8cd98f00b204e9800998ecf8427e"`},
		{"sha512 in hex", "digest: " + sha512Of("claude"), "digest: sha512:" + strings.Repeat("0", 128), "components.claude.artifacts[0].digest: found"},
		{"scheme", "https://uv.example.org/", "ftp://uv.example.org/", `components.uv.artifacts[0].url: found the scheme "ftp"; accepted: http, https, file or oci`},
		{"no scheme", "https://uv.example.org/", "uv.example.org/", `components.uv.artifacts[0].url: found the scheme ""`},
		{"no host", "https://uv.example.org/", "https:///", `without a host; accepted: https://<host>/<path>`},
		{"relative file", "file:///mirror/vmlinuz", "file:mirror/vmlinuz", `image.kernel.url: found "file:mirror/vmlinuz"; accepted: file:///<absolute path>`},
		{"file elsewhere", "file:///mirror/vmlinuz", "file://host/mirror/vmlinuz", `accepted: file:///<absolute path>`},
		{"file with ..", "file:///mirror/vmlinuz", "file:///mirror/../vmlinuz", `accepted: file:///<absolute path>`},
		{"image by tag", "url: oci://registry.example.org/executor@" + sha256Of("executor"), "url: oci://registry.example.org/executor:1.5.0", `accepted: oci://<registry>/<repository>@sha256:<64 hex>`},
		{"image without registry", "url: oci://registry.example.org/executor@", "url: oci://executor@", `accepted: oci://<registry>/<repository>@sha256:<64 hex>`},
		{"image with another digest", "url: oci://registry.example.org/executor@" + sha256Of("executor"), "url: oci://registry.example.org/executor@" + node, "url: found the digest " + node + "; accepted: the artifact's own, " + sha256Of("executor")},
		{"name is a path", "name: claude.tgz", "name: ../claude.tgz", `components.claude.artifacts[0].name: found "../claude.tgz"; accepted: a plain file name`},
		{"name is hidden", "name: claude.tgz", "name: .claude.tgz", "accepted: a plain file name"},
		{"name is a flag", "name: claude.tgz", "name: -rf", "accepted: a plain file name"},
		{"name twice", "name: cpython.tar.gz", "name: hermes_agent-0.19.0-py3-none-any.whl", "components.hermes.artifacts[1].name: found a second artifact hermes_agent-0.19.0-py3-none-any.whl; accepted: each name once in a component"},
		{"component missing", "  uv:\n", "  uvx:\n", "components.uv: found no such key; accepted: a mapping"},
		{"component unknown", "  uv:\n", "  uvx:\n", "components.uvx: found an unknown key, did you mean uv?; accepted: node, uv, claude, codex, hermes, executor"},
		{"source is no package URL", "source: pkg:generic/node@24.17.0", "source: https://node.example.org", `components.node.source: found "https://node.example.org" (`},
		{"source of another version", "pkg:generic/node@24.17.0", "pkg:generic/node@24.17.1", `components.node.source: found version "24.17.1" in "pkg:generic/node@24.17.1"; accepted: the component's version, "24.17.0"`},
		{"source without a version", "pkg:generic/node@24.17.0", "pkg:generic/node", `components.node.source: found version "" in`},
		{"source of another kind", "pkg:generic/node@24.17.0", "pkg:cargo/node@24.17.0", "components.node.source: found the package type cargo; accepted: npm, pypi, oci, github or generic"},
		{"tag of another version", "rust-v0.171.0", "rust-v0.172.0", `components.codex.source: found version "rust-v0.172.0"`},
		{"image tag of another version", "&tag=1.5.0", "&tag=1.5.1", "components.executor.source: found version"},
		{"python of another component", "    version: 24.17.0\n", "    version: 24.17.0\n    python: {version: \"3.13\"}\n", "components.node.python: found the key python; accepted: python only in hermes"},
		{"python missing", "    python:\n      version: \"3.13\"\n      artifact: cpython.tar.gz\n", "", "components.hermes.python: found no such key"},
		{"python as a number", `version: "3.13"`, "version: 3.13", `components.hermes.python.version: found the number 3.13; accepted: "3.13", in quotes`},
		{"python two", `version: "3.13"`, `version: "2.7"`, `components.hermes.python.version: found "2.7"`},
		{"python artifact unknown", "artifact: cpython.tar.gz", "artifact: pypy.tar.gz", `components.hermes.python.artifact: found "pypy.tar.gz"; accepted: the name of one of the component's artifacts`},
		{"package name", "name: libatomic1\n", "name: lib atomic\n", `packages[0].name: found "lib atomic"`},
		{"cmdline of two lines", "# not a comment'", "'\n      # not a comment\n    extra: x", "image.kernel.extra: found an unknown key; accepted: name, url, size, digest, cmdline"},
		{"version is a number", "version: 1.5.0\n", "version: 1.5\n", `components.executor.version: found the number 1.5; accepted: "1.5", in quotes`},
		{"version empty", "version: 1.5.0\n", "version: \"\"\n", `components.executor.version: found ""`},
		{"version is a path", "version: 1.5.0\n", "version: ../1.5.0\n", `components.executor.version: found "../1.5.0"`},
	} {
		t.Run(c.name, func(t *testing.T) {
			if !strings.Contains(sampleText, c.old) {
				t.Fatal("nothing to replace")
			}
			refused(t, strings.Replace(sampleText, c.old, c.new, 1), c.want)
		})
	}
	t.Run("initrd alone", func(t *testing.T) {
		refused(t, cut(sampleText, "  kernel:\n", "  initrd:\n"), "image.initrd: found an initrd without a kernel; accepted: an initrd beside a kernel")
	})
	t.Run("no artifacts", func(t *testing.T) {
		refused(t, strings.Replace(cut(sampleText, "      - name: claude.tgz", "  codex:\n"), "claude-code-linux-arm64@2.1.177\n    artifacts:\n", "claude-code-linux-arm64@2.1.177\n    artifacts: []\n", 1),
			"components.claude.artifacts: found no artifact; accepted: at least one")
	})
	t.Run("package twice", func(t *testing.T) {
		i, j := strings.Index(sampleText, "  - name: libatomic1"), strings.Index(sampleText, "components:\n")
		refused(t, sampleText[:j]+sampleText[i:j]+sampleText[j:], "packages[1].name: found a second package libatomic1; accepted: each package once")
	})
}

func refused(t *testing.T, text, want string) {
	t.Helper()
	_, err := Parse("f", []byte(text))
	if err == nil {
		t.Fatal("accepted")
	}
	if !strings.Contains(err.Error(), want) || fault.CodeOf(err) != fault.InvalidInput {
		t.Errorf("got  %s\nwant %s", err, want)
	}
}

// A URL with credentials is refused, and the error does not repeat the secret.
func TestCredentialsAreRefusedAndNotRepeated(t *testing.T) {
	text := strings.Replace(sampleText, "https://uv.example.org/", "https://me:hunter2@uv.example.org/", 1)
	_, err := Parse("f", []byte(text))
	if err == nil || !strings.Contains(err.Error(), "components.uv.artifacts[0].url: found a URL with credentials") {
		t.Fatalf("got %v", err)
	}
	for _, text := range []string{text, strings.Replace(text, "uv.example.org", "uv example org", 1),
		strings.Replace(text, "https://me:hunter2@", "ftp://me:hunter2@", 1)} {
		if _, err := Parse("f", []byte(text)); err == nil || strings.Contains(err.Error(), "hunter2") {
			t.Errorf("the secret is in %v", err)
		}
	}
}

func TestLoad(t *testing.T) {
	path := filepath.Join(t.TempDir(), FileName)
	_, err := Load(path)
	if err == nil || fault.CodeOf(err) != fault.InvalidInput || !strings.Contains(err.Error(), path) || !strings.Contains(fault.HintOf(err), FileName) {
		t.Errorf("missing: %v (%s, hint %q)", err, fault.CodeOf(err), fault.HintOf(err))
	}
	if err := os.WriteFile(path, []byte("schema: 7\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := Load(path); err == nil || !strings.HasPrefix(err.Error(), path+":1: schema: found the number 7") {
		t.Errorf("wrong: %v", err)
	}
	if err := os.WriteFile(path, []byte(sampleText), 0o600); err != nil {
		t.Fatal(err)
	}
	if l, err := Load(path); err != nil || l.Arch != "arm64" {
		t.Errorf("right: %+v, %v", l, err)
	}
	if _, err := Load(filepath.Dir(path)); err == nil || fault.CodeOf(err) != fault.InvalidInput {
		t.Errorf("directory: %v", err)
	}
}

func TestIdentity(t *testing.T) {
	base := sample(t).Components["hermes"].Identity()
	for _, c := range []struct {
		name   string
		change func(*Component)
		same   bool
	}{
		{"nothing", func(c *Component) {}, true},
		{"url", func(c *Component) { c.Artifacts[0].URL = "https://elsewhere.example.org/x" }, true},
		{"size", func(c *Component) { c.Artifacts[0].Size++ }, true},
		{"source", func(c *Component) { c.Source = "pkg:github/x/hermes-agent@0.19.0" }, true},
		{"digest", func(c *Component) { c.Artifacts[0].Digest = sha256Of("x") }, false},
		{"name", func(c *Component) { c.Artifacts[0].Name = "x.whl" }, false},
		{"version", func(c *Component) { c.Version = "0.19.1" }, false},
		{"python", func(c *Component) { c.Python.Version = "3.14" }, false},
		{"python artifact", func(c *Component) { c.Python.Artifact = "" }, false},
		{"no python", func(c *Component) { c.Python = nil }, false},
		{"order", func(c *Component) { c.Artifacts[0], c.Artifacts[1] = c.Artifacts[1], c.Artifacts[0] }, false},
		{"one fewer", func(c *Component) { c.Artifacts = c.Artifacts[:1] }, false},
	} {
		comp := sample(t).Components["hermes"]
		c.change(comp)
		if got := comp.Identity(); (got == base) != c.same {
			t.Errorf("%s: identity the same: %v", c.name, got == base)
		}
	}
	if _, err := ParseDigest(base); err != nil {
		t.Error(err)
	}
}

// Digests and identities are recorded on disk, so the way they are computed must not change by accident.
func TestRecordedForms(t *testing.T) {
	if got := sample(t).Digest(); got != sha256Of(sampleText) {
		t.Errorf("digest %s", got)
	}
	want := sha256Of("version \"24.17.0\"\nartifact \"node-v24.17.0-linux-arm64.tar.xz\" \"" + sha256Of("node") + "\"\n")
	if got := sample(t).Components["node"].Identity(); got != want {
		t.Errorf("identity %s", got)
	}
}

func FuzzParse(f *testing.F) {
	f.Add([]byte(sampleText))
	f.Add([]byte(cut(sampleText, "packages:\n", "components:\n")))
	f.Add([]byte(strings.ReplaceAll(sampleText, "ubuntu 26.04", `"'# x: y"`)))
	f.Add([]byte("schema: 1\nlima: {version: 2.1.3}\narch: amd64\n"))
	f.Fuzz(func(t *testing.T, data []byte) {
		l, err := Parse("f", data)
		if err != nil {
			if fault.CodeOf(err) != fault.InvalidInput || !strings.HasPrefix(err.Error(), "f:") {
				t.Fatalf("%v", err)
			}
			return
		}
		text := l.Canonical()
		again, err := Parse("canonical", text)
		if err != nil {
			t.Fatalf("%v of\n%s", err, text)
		}
		if !reflect.DeepEqual(l, again) {
			t.Errorf("got %+v, want %+v", again, l)
		}
		if twice := again.Canonical(); !bytes.Equal(twice, text) {
			t.Errorf("got\n%s\nwant\n%s", twice, text)
		}
		if Compare(l, again).Any() {
			t.Errorf("drift %+v", Compare(l, again))
		}
	})
}
