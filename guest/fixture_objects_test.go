package guest_test

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"runtime"
	"slices"
	"strings"

	"hermes-box/guest/protocol"
)

// fakeUV is a uv that makes an environment with the layout of a real one. Tests on the real VM use the real uv.
const fakeUV = `#!/bin/sh
set -e
case "$1 $2" in
--version*) echo "uv VERSION" ;;
venv*)
	for dir; do :; done
	mkdir -p "$dir/bin" "$dir/lib/python3.13/site-packages" "$UV_CACHE_DIR"
	echo '#!/bin/sh' >"$dir/bin/python" ;;
"pip install")
	while [ "$1" != --find-links ]; do shift; done
	wheels=$2
	while [ "$1" != --python ]; do shift; done
	for pin; do :; done
	test -f "$wheels/hermes_agent-${pin#*==}-py3-none-any.whl"
	printf '#!/bin/sh\necho "Hermes Agent v%s (2026.7.20)"\n' "${pin#*==}" >"$(dirname "$2")/hermes"
	chmod 755 "$(dirname "$2")/hermes" ;;
"pip check") ;;
*) echo "unknown: $*" >&2; exit 2 ;;
esac
`

// objects are the objects that the host sends, by name.
type objects map[string][]byte

func (o objects) add(data []byte) string {
	sum := sha256.Sum256(data)
	o["sha256/"+hex.EncodeToString(sum[:])] = data
	return "sha256:" + hex.EncodeToString(sum[:])
}

func (o objects) tar() *bytes.Buffer {
	var buf bytes.Buffer
	w := tar.NewWriter(&buf)
	for name, data := range o {
		w.WriteHeader(&tar.Header{Name: name, Mode: 0o644, Size: int64(len(data))})
		w.Write(data)
	}
	w.Close()
	return &buf
}

// transaction returns a transaction with all six components, or with those named, and the objects of all six. The
// generation is the last number of the version of each component.
func transaction(generation int, names ...string) (protocol.Transaction, objects) {
	o := objects{}
	v := func(s string) string { return fmt.Sprintf("%s.%d", s, generation) }
	script := func(prints, version string) string {
		return "#!/bin/sh\necho '" + prints + version + "'\n"
	}
	art := func(name string, data []byte) protocol.Artifact {
		return protocol.Artifact{Name: name, Digest: o.add(data)}
	}
	all := []protocol.Component{
		{Name: "node", Version: v("24.17"), Artifacts: []protocol.Artifact{
			art("node.tgz", tgz("package/bin/node", script("v", v("24.17")), "package/package.json", "{}")),
			art("npm.tgz", tgz("package/bin/npm-cli.js", script("", "11.1.0"), "package/bin/npx-cli.js", script("", "11.1.0"))),
		}},
		{Name: "uv", Version: v("0.11"), Artifacts: []protocol.Artifact{
			art("uv.whl", zipped("uv-"+v("0.11")+".data/scripts/uv", strings.ReplaceAll(fakeUV, "VERSION", v("0.11")),
				"uv-"+v("0.11")+".data/scripts/uvx", "#!/bin/sh\n", "uv/__init__.py", "")),
		}},
		{Name: "claude", Version: v("2.1"), Artifacts: []protocol.Artifact{
			art("claude.tgz", tgz("package/claude", script("", v("2.1")+" (Claude Code)"), "package/LICENSE.md", "")),
		}},
		{Name: "codex", Version: v("0.171"), Artifacts: []protocol.Artifact{
			art("codex.tgz", tgz("package/vendor/x86_64-unknown-linux-musl/bin/codex", script("codex-cli ", v("0.171")),
				"package/vendor/x86_64-unknown-linux-musl/codex-path/rg", "#!/bin/sh\n",
				"package/vendor/x86_64-unknown-linux-musl/codex-resources/note", "", "package/package.json", "{}")),
		}},
		{Name: "hermes", Version: v("0.19"), Python: &protocol.Python{Version: "3.13"}, Artifacts: []protocol.Artifact{
			art("click-8.5.1-py3-none-any.whl", []byte("click")),
			art("hermes_agent-"+v("0.19")+"-py3-none-any.whl", []byte("hermes"+v("0.19"))),
		}},
		{Name: "executor", Version: v("1.5"), Artifacts: []protocol.Artifact{imageArtifact(o, v("1.5"))}},
	}
	tx := protocol.Transaction{ID: fmt.Sprintf("tx-%d", generation), Lock: fmt.Sprintf("lock %d\n", generation), Ports: ports}
	for _, c := range all {
		if len(names) == 0 || slices.Contains(names, c.Name) {
			tx.Components = append(tx.Components, c)
		}
	}
	return tx, o
}

func imageArtifact(o objects, version string) protocol.Artifact {
	layer := o.add([]byte("layer of " + version))
	config := fmt.Appendf(nil, `{"architecture":%q,"os":"linux","config":{"Env":["VERSION=%s"],"Entrypoint":["/app/bin/executor","web"]}}`,
		runtime.GOARCH, version)
	configDigest := o.add(config)
	manifest := fmt.Appendf(nil, `{"schemaVersion":2,"mediaType":"application/vnd.oci.image.manifest.v1+json",`+
		`"config":{"mediaType":"application/vnd.oci.image.config.v1+json","digest":%q,"size":%d},`+
		`"layers":[{"mediaType":"application/vnd.oci.image.layer.v1.tar+gzip","digest":%q,"size":%d}]}`,
		configDigest, len(config), layer, len("layer of "+version))
	return protocol.Artifact{Name: "executor", Digest: o.add(manifest), Blobs: []string{configDigest, layer}}
}

func tgz(pairs ...string) []byte {
	var buf bytes.Buffer
	z := gzip.NewWriter(&buf)
	w := tar.NewWriter(z)
	for i := 0; i < len(pairs); i += 2 {
		mode := int64(0o644)
		if strings.HasPrefix(pairs[i+1], "#!") {
			mode = 0o755
		}
		w.WriteHeader(&tar.Header{Name: pairs[i], Mode: mode, Size: int64(len(pairs[i+1]))})
		w.Write([]byte(pairs[i+1]))
	}
	w.Close()
	z.Close()
	return buf.Bytes()
}

func zipped(pairs ...string) []byte {
	var buf bytes.Buffer
	w := zip.NewWriter(&buf)
	for i := 0; i < len(pairs); i += 2 {
		f, _ := w.Create(pairs[i])
		f.Write([]byte(pairs[i+1]))
	}
	w.Close()
	return buf.Bytes()
}

func sri(sum []byte) string { return "sha512-" + base64.StdEncoding.EncodeToString(sum) }
