package guest_test

import (
	"context"
	"errors"
	"runtime"
	"slices"
	"strings"
	"testing"
)

// chowned reports whether a directory was given to its owner before it got its name.
func (b *box) chowned(path string) bool {
	i := strings.LastIndex(path, "/")
	did := b.sys.Did()
	return slices.Contains(did, "chown "+path[:i]+"/.hermes-box-"+path[i+1:]+" 1000:1000")
}

// A directory of the user never exists with another owner. After an error or a crash it does not exist, and the next
// run creates it.
func TestDirectoriesAreMadeWithTheirOwner(t *testing.T) {
	for path, do := range map[string]func(*box) error{
		"/data/home/agent/.codex":    func(b *box) error { return b.apply(1, "codex") },
		"/data/cache":                func(b *box) error { _, err := b.Bootstrap(context.Background(), askFormat()); return err },
		"/data/home/agent/workspace": func(b *box) error { _, err := b.Bootstrap(context.Background(), askFormat()); return err },
	} {
		start := func() *box {
			if strings.HasSuffix(path, ".codex") {
				return newBox(t)
			}
			return newRoot(t, blankDisk)
		}
		name := path[strings.LastIndex(path, "/")+1:]

		b := start()
		b.sys.Fail = func(effect string) error {
			if strings.HasPrefix(effect, "chown /data/") && strings.Contains(effect, name+" ") {
				return errors.New("sabotage")
			}
			return nil
		}
		if err := do(b); err == nil {
			t.Errorf("%s: no error", path)
		}
		if b.has(path) {
			t.Errorf("%s exists with the wrong owner after an error", path)
		}
		b.sys.Fail = nil
		if err := do(b); err != nil || !b.chowned(path) || !b.has(path) {
			t.Errorf("%s: after an error: %v, %v", path, err, b.sys.Did())
		}

		b = start()
		b.After = func(step string) {
			if step == "make .hermes-box-"+name {
				runtime.Goexit()
			}
		}
		done := make(chan struct{})
		go func() {
			defer close(done)
			_ = do(b)
			t.Errorf("%s was not created under a temporary name", path)
		}()
		<-done
		if b.has(path) {
			t.Errorf("%s exists with the wrong owner after a crash", path)
		}
		b = openBox(t, b.Root)
		if err := do(b); err != nil || !b.chowned(path) || !b.has(path) || b.has(path[:len(path)-len(name)]+".hermes-box-"+name) {
			t.Errorf("%s: after a crash: %v, %v", path, err, b.sys.Did())
		}
	}
}
