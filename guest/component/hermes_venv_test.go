package component

import (
	"os"
	"path/filepath"
	"testing"

	"hermes-box/guest/durable"
)

// After a rename, moveVenv corrects the paths of an environment with its own Python. It does not change an environment
// that uses the guest's Python.
func TestMoveVenv(t *testing.T) {
	env := Env{Tree: durable.Tree{Root: t.TempDir()}}
	put(t, env, "/r/.staging/python/bin/python3", "#!/bin/sh\necho moved\n")
	put(t, env, "/r/.staging/pyvenv.cfg", "home = /r/.staging/python/bin\nversion_info = 3.13\nrelocatable = true\n")
	if err := os.MkdirAll(env.Path("/r/.staging/bin"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("/r/.staging/python/bin/python3", env.Path("/r/.staging/bin/python")); err != nil {
		t.Fatal(err)
	}
	dir := env.Path("/r/0.19.0")
	if err := os.Rename(env.Path("/r/.staging"), dir); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if err := moveVenv(dir); err != nil {
			t.Fatal(err)
		}
	}
	want := "home = " + dir + "/python/bin\nversion_info = 3.13\nrelocatable = true\n"
	if got, _ := os.ReadFile(filepath.Join(dir, "pyvenv.cfg")); string(got) != want {
		t.Errorf("pyvenv.cfg is %q", got)
	}
	if !isFile(dir, "bin/python") {
		t.Error("bin/python is a dangling symlink")
	}
	put(t, env, "/other/pyvenv.cfg", "home = /usr/bin\n")
	if err := moveVenv(env.Path("/other")); err != nil {
		t.Fatal(err)
	}
	if got, _ := os.ReadFile(env.Path("/other/pyvenv.cfg")); string(got) != "home = /usr/bin\n" {
		t.Errorf("pyvenv.cfg is %q", got)
	}
}
