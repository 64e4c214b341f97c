package lock

import (
	"crypto/sha256"
	"crypto/sha512"
	"encoding/base64"
	"fmt"
	"strings"
	"testing"
)

func sha256Of(s string) string { return fmt.Sprintf("sha256:%x", sha256.Sum256([]byte(s))) }

func sha512Of(s string) string {
	sum := sha512.Sum512([]byte(s))
	return "sha512-" + base64.StdEncoding.EncodeToString(sum[:])
}

// sampleText is a whole lock, canonically written.
var sampleText = strings.NewReplacer(
	"SHA_DISK", sha256Of("disk"), "SHA_KERNEL", sha256Of("kernel"), "SHA_INITRD", sha256Of("initrd"), "SHA_DEB", sha256Of("deb"),
	"SHA_NODE", sha256Of("node"), "SHA_UV", sha256Of("uv"), "SHA_CLAUDE", sha512Of("claude"), "SHA_CODEX", sha512Of("codex"),
	"SHA_HERMES", sha256Of("hermes"), "SHA_PYTHON", sha256Of("python"), "SHA_EXECUTOR", sha256Of("executor"),
).Replace(`schema: 1
lima:
  version: 2.1.3
arch: arm64
image:
  name: ubuntu 26.04
  disk:
    name: ubuntu-26.04-server-cloudimg-arm64.img
    url: https://images.example.org/ubuntu-26.04-server-cloudimg-arm64.img
    size: 700000000
    digest: SHA_DISK
  kernel:
    name: vmlinuz
    url: file:///mirror/vmlinuz
    size: 9000000
    digest: SHA_KERNEL
    cmdline: 'root=/dev/vda rw console=ttyS0 net.ifnames=0 # not a comment'
  initrd:
    name: initrd.img
    url: file:///mirror/initrd.img
    size: 30000000
    digest: SHA_INITRD
packages:
  - name: libatomic1
    version: 1:14.2.0-19~bpo12+1
    artifact:
      name: libatomic1_14.2.0-19_arm64.deb
      url: http://127.0.0.1:8080/libatomic1_14.2.0-19_arm64.deb
      size: 10000
      digest: SHA_DEB
components:
  node:
    version: 24.17.0
    source: pkg:generic/node@24.17.0
    artifacts:
      - name: node-v24.17.0-linux-arm64.tar.xz
        url: https://node.example.org/node-v24.17.0-linux-arm64.tar.xz?mirror=1
        size: 29000000
        digest: SHA_NODE
  uv:
    version: 0.11.23
    source: pkg:github/astral-sh/uv@0.11.23
    artifacts:
      - name: uv-aarch64-unknown-linux-gnu.tar.gz
        url: https://uv.example.org/uv-aarch64-unknown-linux-gnu.tar.gz
        size: 20000000
        digest: SHA_UV
  claude:
    version: 2.1.177
    source: pkg:npm/%40anthropic-ai/claude-code-linux-arm64@2.1.177
    artifacts:
      - name: claude.tgz
        url: https://npm.example.org/claude.tgz
        size: 186000000
        digest: SHA_CLAUDE
  codex:
    version: 0.171.0
    source: pkg:github/openai/codex@rust-v0.171.0
    artifacts:
      - name: codex.tgz
        url: https://npm.example.org/codex.tgz
        size: 172000000
        digest: SHA_CODEX
  hermes:
    version: 0.19.0
    source: pkg:pypi/hermes-agent@0.19.0
    python:
      version: "3.13"
      artifact: cpython.tar.gz
    artifacts:
      - name: hermes_agent-0.19.0-py3-none-any.whl
        url: https://wheels.example.org/hermes_agent-0.19.0-py3-none-any.whl
        size: 5000000
        digest: SHA_HERMES
      - name: cpython.tar.gz
        url: https://python.example.org/cpython.tar.gz
        size: 30000000
        digest: SHA_PYTHON
  executor:
    version: 1.5.0
    source: pkg:oci/executor-selfhost@SHA_EXECUTOR?repository_url=registry.example.org/executor&tag=1.5.0
    artifacts:
      - name: executor
        url: oci://registry.example.org/executor@SHA_EXECUTOR
        size: 70000000
        digest: SHA_EXECUTOR
`)

func sample(t testing.TB) *Lock {
	t.Helper()
	l, err := Parse("hermes-box.lock", []byte(sampleText))
	if err != nil {
		t.Fatal(err)
	}
	return l
}
