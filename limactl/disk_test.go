package limactl

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"
)

func TestDisk(t *testing.T) {
	c := stage(t)
	ctx := t.Context()
	if _, err := c.Disk(ctx, "d"); !errors.Is(err, ErrNotFound) {
		t.Fatalf("unknown disk: %v", err)
	}
	if err := c.DeleteDisk(ctx, "d"); err != nil {
		t.Fatalf("deleting an unknown disk: %v", err)
	}
	if err := c.CreateDisk(ctx, "d", 10<<20); err != nil {
		t.Fatal(err)
	}
	if err := c.CreateDisk(ctx, "d", 10<<20); !errors.Is(err, ErrExists) {
		t.Fatalf("creating it again: %v", err)
	}
	if err := c.CreateDisk(ctx, "d2", 1<<20); err != nil {
		t.Fatal(err)
	}
	d, err := c.Disk(ctx, "d")
	if err != nil || d.Size != 10<<20 || d.InUseBy != "" || d.Dir != c.diskDir("d") {
		t.Fatalf("got %+v, %v", d, err)
	}
	// Lima may choose another format than the requested one.
	want := "raw"
	if _, err := exec.LookPath("qemu-img"); err == nil {
		want = "qcow2"
	}
	if d.Format != want {
		t.Errorf("format %s, want %s", d.Format, want)
	}
	if all, err := c.Disks(ctx); err != nil || len(all) != 2 {
		t.Fatalf("got %v, %v", all, err)
	}
	if err := c.DeleteDisk(ctx, "d"); err != nil {
		t.Fatal(err)
	}
	if _, err := c.Disk(ctx, "d"); !errors.Is(err, ErrNotFound) {
		t.Fatalf("after delete: %v", err)
	}
	if _, err := c.Disk(ctx, "d2"); err != nil {
		t.Fatalf("the other disk: %v", err)
	}
}

// Deleting a disk that a stopped instance names is an error, although limactl then skips the disk and exits with 0.
func TestDeleteDiskThatIsNamed(t *testing.T) {
	c := stage(t)
	create(t, c, "main")
	err := c.DeleteDisk(t.Context(), "main-data")
	if !errors.Is(err, ErrInUse) {
		t.Fatalf("got %v", err)
	}
	if _, err := c.Disk(t.Context(), "main-data"); err != nil {
		t.Fatal(err)
	}
	if err := c.Delete(t.Context(), "main"); err != nil {
		t.Fatal(err)
	}
	if err := c.DeleteDisk(t.Context(), "main-data"); err != nil {
		t.Fatal(err)
	}
}

// A create or a delete that was killed leaves the directory of a disk without data, which Lima neither reads nor
// deletes: DeleteDisk removes it itself. It deletes a disk with data only through Lima.
func TestDeleteDiskWithoutData(t *testing.T) {
	c := stage(t)
	for _, name := range []string{"half", "half-2"} {
		if err := os.MkdirAll(c.diskDir(name), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink(c.Dir("gone"), filepath.Join(c.diskDir("half"), "in_use_by")); err != nil {
		t.Fatal(err)
	}
	if err := c.DeleteDisk(t.Context(), "half"); err != nil || exists(c.diskDir("half")) {
		t.Fatalf("exists %v, %v", exists(c.diskDir("half")), err)
	}
	if !exists(c.diskDir("half-2")) {
		t.Error("the other disk is gone")
	}
	create(t, c, "main")
	if err := c.DeleteDisk(t.Context(), "main-data"); !errors.Is(err, ErrInUse) || hasNoData(c.diskDir("main-data")) {
		t.Errorf("a disk with data: %v", err)
	}
}

func TestWhole(t *testing.T) {
	c := stage(t)
	create(t, c, "main")
	for _, tt := range []struct {
		instance, disk, without string
		want                    bool
	}{
		{"main", "main-data", "", true},
		{"main", "none", "", false},
		{"none", "main-data", "", false},
		{"main", "main-data", filepath.Join(c.Dir("main"), "lima.yaml"), false},
		{"main", "main-data", filepath.Join(c.Dir("main"), "disk"), false},
		{"main", "main-data", filepath.Join(c.diskDir("main-data"), "datadisk"), false},
	} {
		if tt.without != "" {
			if err := os.Rename(tt.without, tt.without+".away"); err != nil {
				t.Fatal(err)
			}
		}
		if whole, err := c.Whole(tt.instance, tt.disk); whole != tt.want || err != nil {
			t.Errorf("%+v: %v, %v", tt, whole, err)
		}
		if tt.without != "" {
			if err := os.Rename(tt.without+".away", tt.without); err != nil {
				t.Fatal(err)
			}
		}
	}
	if _, err := c.Whole("../main", "main-data"); err == nil {
		t.Error("a path was accepted as a name")
	}
}

func TestDeleteDiskOfRunningInstance(t *testing.T) {
	c := stage(t)
	running(t, c, "main")
	if err := c.DeleteDisk(t.Context(), "main-data"); !errors.Is(err, ErrInUse) {
		t.Fatalf("got %v", err)
	}
	if err := c.UnlockDisk(t.Context(), "main-data"); !errors.Is(err, ErrInUse) {
		t.Fatalf("unlock: got %v", err)
	}
}

// UnlockDisk removes the lock that a crash leaves.
func TestUnlockAfterCrash(t *testing.T) {
	c := stage(t)
	running(t, c, "main")
	if err := c.Kill(t.Context(), "main"); err != nil {
		t.Fatal(err)
	}
	if d, err := c.Disk(t.Context(), "main-data"); err != nil || d.InUseBy != "main" {
		t.Fatalf("got %+v, %v", d, err)
	}
	if err := c.UnlockDisk(t.Context(), "main-data"); err != nil {
		t.Fatal(err)
	}
	if err := c.UnlockDisk(t.Context(), "main-data"); err != nil {
		t.Fatalf("unlocking it again: %v", err)
	}
	if d, err := c.Disk(t.Context(), "main-data"); err != nil || d.InUseBy != "" {
		t.Fatalf("got %+v, %v", d, err)
	}
}

// A lock is stale if the directory of its holder is gone, but not if the holder is only stopped or in another
// LIMA_HOME.
func TestStaleLock(t *testing.T) {
	c := stage(t)
	create(t, c, "main")
	create(t, c, "other")
	elsewhere := t.TempDir()
	link := filepath.Join(c.diskDir("main-data"), "in_use_by")
	for holder, stale := range map[string]bool{c.Dir("gone"): true, filepath.Join(elsewhere, "main"): true, c.Dir("other"): false, elsewhere: false} {
		if err := os.Symlink(holder, link); err != nil {
			t.Fatal(err)
		}
		d, err := c.Disk(t.Context(), "main-data")
		if err != nil || d.Stale != stale || d.InUseBy != filepath.Base(holder) {
			t.Errorf("held by %s: %+v, %v", holder, d, err)
		}
		if stale {
			if err := c.UnlockDisk(t.Context(), "main-data"); err != nil || exists(link) {
				t.Errorf("held by %s: exists %v, %v", holder, exists(link), err)
			}
		}
		_ = os.Remove(link)
	}
}

// Delete releases the locks of an instance whose lima.yaml Lima cannot read: Lima itself would leave the disks locked.
func TestDeleteReleasesLocks(t *testing.T) {
	c := stage(t)
	running(t, c, "main")
	if err := c.Kill(t.Context(), "main"); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(c.Dir("main"), "lima.yaml"), []byte("cpus: ["), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := c.Delete(t.Context(), "main"); err != nil {
		t.Fatal(err)
	}
	if d, err := c.Disk(t.Context(), "main-data"); err != nil || d.InUseBy != "" {
		t.Fatalf("got %+v, %v", d, err)
	}
	if err := c.DeleteDisk(t.Context(), "main-data"); err != nil {
		t.Fatal(err)
	}
}

// Delete and a forced stop keep the locks that other instances hold, although limactl removes them.
func TestForeignLockSurvives(t *testing.T) {
	for _, tt := range []struct {
		name string
		act  func(*Client) error
	}{
		{"delete", func(c *Client) error { return c.Delete(t.Context(), "other") }},
		{"stop --force", func(c *Client) error {
			in, err := c.Instance(t.Context(), "other")
			if err != nil {
				return err
			}
			return c.forceOff(t.Context(), in)
		}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			c := stage(t)
			running(t, c, "main")
			yaml, err := machine("other", "main-data").YAML()
			if err != nil {
				t.Fatal(err)
			}
			if err := c.Create(t.Context(), "other", yaml); err != nil {
				t.Fatal(err)
			}
			if err := tt.act(c); err != nil {
				t.Fatal(err)
			}
			d, err := c.Disk(t.Context(), "main-data")
			if err != nil || d.InUseBy != "main" {
				t.Fatalf("got %+v, %v", d, err)
			}
			wantState(t, c, "main", Running)
			if err := c.Stop(t.Context(), "main", false, time.Minute); err != nil {
				t.Fatal(err)
			}
			if d, err := c.Disk(t.Context(), "main-data"); err != nil || d.InUseBy != "" {
				t.Errorf("after stop: %+v, %v", d, err)
			}
		})
	}
}
