package ops

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"hermes-box/limactl"
	"hermes-box/ops/config"
	"hermes-box/ops/fault"
	"hermes-box/ops/store"
)

// destroy removes the VM only while the data disk is frozen. If the call that keeps it frozen has ended, programs may have
// written since, so nothing is removed and no journal is left.
func TestDestroyNeedsTheFrozenDisk(t *testing.T) {
	for name, ended := range map[string]bool{"frozen": false, "thawed": true} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			home, err := store.Open(filepath.Join(dir, "home"))
			if err != nil {
				t.Fatal(err)
			}
			called := filepath.Join(dir, "called")
			for path, text := range map[string]string{
				filepath.Join(home.Lima(), "main/lima.yaml"):            "",
				filepath.Join(home.Lima(), "main/disk"):                 "",
				filepath.Join(home.Lima(), "_disks/main-data/datadisk"): "",
				filepath.Join(dir, "limactl"):                           "#!/bin/sh\necho \"$@\" >>'" + called + "'\nexit 1\n",
			} {
				if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
					t.Fatal(err)
				}
				if err := os.WriteFile(path, []byte(text), 0o700); err != nil {
					t.Fatal(err)
				}
			}
			b := &Box{
				Host: &Host{Dir: string(home), Lima: limactl.New(limactl.Config{Program: filepath.Join(dir, "limactl"), Home: home.Lima()})},
				Home: home, Config: &config.Config{Name: "main"}, Record: &store.Record{Name: "main", Instance: "main", Disk: "main-data", Ready: true},
				journal: newJournal(home, "main", "destroy"),
			}
			thawed := errors.New("the data disk was frozen for 1m0s")
			hold := b.startCall(t.Context(), func(ctx context.Context) error {
				if !ended {
					<-ctx.Done()
				}
				return thawed
			})
			defer hold.release()
			if !hold.keep() {
				t.Fatal("the call was canceled")
			}
			if ended {
				<-hold.ended
			}
			step := b.destroySteps(false, &reliance{id: "last", frozen: hold}, &Destroyed{})[0]
			err = step.Do(t.Context(), nil)
			_, statErr := os.Stat(called)
			if asked := statErr == nil; asked == ended { // limactl fails here, but it must be asked only while the disk is frozen
				t.Errorf("limactl was run: %v", asked)
			}
			if !ended {
				return
			}
			if !errors.Is(err, thawed) || fault.HintOf(err) != "hermes-box destroy" || !strings.Contains(err.Error(), "the box is not destroyed") {
				t.Errorf("%v; hint %q", err, fault.HintOf(err))
			}
			if whole, err := b.whole(); !whole || err != nil || step.Changed() || step.Stays() != "" {
				t.Errorf("whole: %v, %v; changed: %v; %q", whole, err, step.Changed(), step.Stays())
			}
			if !b.noJournal() {
				t.Error("the journal is left")
			}
		})
	}
}
