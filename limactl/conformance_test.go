package limactl

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// TestConformance runs the same checks against the limactl of package rehearsal and against the real limactl, whose
// path is in HERMES_BOX_LAB_LIMACTL. No VM boots: the image of the instances is a dummy, as in Lima's own tests.
func TestConformance(t *testing.T) {
	t.Run("rehearsal", func(t *testing.T) { conform(t, stage(t)) })
	t.Run("real", func(t *testing.T) {
		if c := realLima(t); c != nil {
			conform(t, c)
		}
	})
}

// realLima returns a Client of the real limactl with a LIMA_HOME of its own. For root it runs the test again as the
// lab's user, and returns nil.
func realLima(t *testing.T) *Client {
	t.Helper()
	program := os.Getenv("HERMES_BOX_LAB_LIMACTL")
	if program == "" {
		t.Skip("NOT CHECKED against the real limactl: HERMES_BOX_LAB_LIMACTL is not set")
	}
	if os.Geteuid() == 0 {
		againAsUser(t)
		return nil
	}
	dir, err := os.MkdirTemp("", "hb")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	return New(Config{Program: program, Home: filepath.Join(dir, "lima")})
}

// againAsUser runs the current test again as the lab's user.
func againAsUser(t *testing.T) {
	t.Helper()
	who := os.Getenv("HERMES_BOX_LAB_USER")
	if who == "" {
		who = "hermes-box"
	}
	u, err := user.Lookup(who)
	if err != nil {
		t.Fatal(err)
	}
	// Other users cannot read the directory of the test binary.
	dir, err := os.MkdirTemp("", "hb")
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(dir)
	data, err := os.ReadFile(os.Args[0])
	if err != nil {
		t.Fatal(err)
	}
	program := filepath.Join(dir, "test")
	if err := errors.Join(os.Chmod(dir, 0o755), os.WriteFile(program, data, 0o755)); err != nil {
		t.Fatal(err)
	}
	pattern := "^" + strings.ReplaceAll(t.Name(), "/", "$/^") + "$"
	cmd := exec.CommandContext(t.Context(), "runuser", "-u", who, "--", program, "-test.v", "-test.run="+pattern)
	cmd.Dir = "/"
	cmd.Env = append(os.Environ(), "HOME="+u.HomeDir)
	out, err := cmd.CombinedOutput()
	t.Logf("as user %s:\n%s", who, out)
	if err != nil {
		t.Fatal(err)
	}
}

func conform(t *testing.T, c *Client) {
	ctx := t.Context()
	// raw returns the output of limactl itself.
	raw := func(args ...string) (stdout, stderr string, status int) {
		out, err := c.run(ctx, time.Minute, nil, args...)
		var failed *CommandError
		if errors.As(err, &failed) {
			status = failed.Status
		} else if err != nil {
			t.Fatal(err)
		}
		return string(out.stdout), out.stderr, status
	}
	expect := func(args []string, wantOut, wantErr string, wantStatus int) {
		t.Helper()
		stdout, stderr, status := raw(args...)
		if status != wantStatus || !strings.Contains(stdout, wantOut) || wantOut == "" && stdout != "" || !strings.Contains(stderr, wantErr) {
			t.Errorf("%s: status %d, stdout %q, stderr %q", strings.Join(args, " "), status, stdout, stderr)
		}
	}
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}

	if v, err := c.Version(ctx); err != nil || v != "2.1.3" {
		t.Fatalf("version %q, %v", v, err)
	}
	expect([]string{"list", listFormat}, "", "No instance found", 0)
	expect([]string{"list", listFormat, "none"}, "", "No instance matching none found.", 1)
	expect([]string{"disk", "list", "--json"}, "", "", 0)
	expect([]string{"disk", "list", "--json", "none"}, "", "No disk matching none found.", 0)
	expect([]string{"disk", "delete", "none"}, "", "Ignoring non-existent disk `none`", 0)
	expect([]string{"disk", "unlock", "none"}, "", "Ignoring non-existent disk `none`", 0)
	expect([]string{"delete", "none"}, "", "Ignoring non-existent instance `none`", 0)
	expect([]string{"stop", "none"}, "", "no such file or directory", 1)
	if _, err := c.Instance(ctx, "none"); !errors.Is(err, ErrNotFound) {
		t.Errorf("unknown instance: %v", err)
	}
	if _, err := c.Disk(ctx, "none"); !errors.Is(err, ErrNotFound) {
		t.Errorf("unknown disk: %v", err)
	}

	must(c.CreateDisk(ctx, "box-data", 16<<20))
	expect([]string{"disk", "create", "box-data", "--size", "1", "--format", "raw"}, "", "already exists", 1)
	expect([]string{"disk", "unlock", "box-data"}, "", "Ignoring unlocked disk `box-data`", 0)
	d, err := c.Disk(ctx, "box-data")
	must(err)
	if d.Size != 16<<20 || d.InUseBy != "" {
		t.Errorf("disk %+v", d)
	}
	if _, err := exec.LookPath("qemu-img"); err == nil && d.Format != "qcow2" {
		t.Errorf("the format is %s, not qcow2, although qemu-img is installed: this Lima keeps the requested format", d.Format)
	}

	// Lima ignores the directory that a killed "disk create" or "disk delete" leaves, and does not delete it.
	half := c.diskDir("half")
	must(os.Mkdir(half, 0o700))
	expect([]string{"disk", "list", "--json", "half"}, "", "", 0)
	expect([]string{"disk", "delete", "half"}, "", "Ignoring non-existent disk `half`", 0)
	if !exists(half) {
		t.Error("Lima deletes a disk without data")
	}
	must(c.DeleteDisk(ctx, "half"))
	if exists(half) {
		t.Error("a disk without data is still there")
	}

	m := machine("box", "box-data")
	m.Image = dummyImage(t, c.Home())
	yaml, err := m.YAML()
	must(err)
	must(c.validate(ctx, yaml))
	must(c.Create(ctx, "box", yaml))
	in, err := c.Instance(ctx, "box")
	must(err)
	if in.State != Stopped || in.Raw != "Stopped" || in.Name != "box" || in.Arch != "amd64" || in.VMType != "qemu" || in.CPUs != 2 || in.Memory != 1<<30 ||
		in.Disk != 4<<30 || len(in.Disks) != 1 || in.Disks[0] != "box-data" || in.Dir != c.Dir("box") || in.PID != 0 {
		t.Errorf("instance %+v", in)
	}
	if whole, err := c.Whole("box", "box-data"); err != nil || !whole {
		t.Errorf("a new instance and its disk: whole %v, %v", whole, err)
	}
	expect([]string{"list", listFormat, "box", "none"}, `"name":"box"`, "No instance matching none found.", 1)
	expect([]string{"stop", "box"}, "", `expected status \"Running\", got \"Stopped\"`, 1)
	must(c.Stop(ctx, "box", true, time.Minute))

	// limactl skips a disk that a stopped instance names.
	expect([]string{"disk", "delete", "box-data"}, "", "Skipping deleting disk `box-data`, disk is referenced by", 0)
	if err := c.DeleteDisk(ctx, "box-data"); !errors.Is(err, ErrInUse) {
		t.Errorf("deleting a disk that an instance names: %v", err)
	}
	// The lock of another instance is kept.
	must(os.MkdirAll(filepath.Join(c.Home(), "other"), 0o755))
	must(os.WriteFile(filepath.Join(c.Home(), "other", "lima.yaml"), yaml, 0o644))
	link := filepath.Join(d.Dir, "in_use_by")
	must(os.Symlink(c.Dir("other"), link))
	expect([]string{"stop", "--force", "box"}, "", "", 0)
	if exists(link) {
		t.Error("limactl stop --force keeps the lock of another instance: in this Lima restoreLocks is not needed")
	}
	must(os.Symlink(c.Dir("other"), link))
	must(c.Delete(ctx, "box"))
	if d, err = c.Disk(ctx, "box-data"); err != nil || d.InUseBy != "other" {
		t.Errorf("after deleting another instance that names the disk: %+v, %v", d, err)
	}
	must(os.RemoveAll(c.Dir("other")))
	if _, err := c.Instance(ctx, "box"); !errors.Is(err, ErrNotFound) {
		t.Errorf("after delete: %v", err)
	}

	// A directory that is not an instance.
	must(c.Create(ctx, "box", yaml))
	must(os.Mkdir(c.Dir("stray"), 0o755))
	expect([]string{"list", listFormat}, "", "unable to load instance stray", 1)
	if in, err = c.Instance(ctx, "box"); err != nil || in.Name != "box" {
		t.Errorf("with a stray directory: %+v, %v", in, err)
	}
	// A lima.yaml that cannot be read.
	must(os.WriteFile(filepath.Join(c.Dir("box"), "lima.yaml"), []byte("cpus: ["), 0o644))
	if in, err = c.Instance(ctx, "box"); err != nil || in.State != Degraded || in.Raw != "" || !strings.Contains(in.Cause, "unmarshal") {
		t.Errorf("bad yaml: %+v, %v", in, err)
	}
	expect([]string{"delete", "box"}, "", "expected status", 1)
	must(c.Delete(ctx, "box"))
	must(c.Delete(ctx, "stray"))

	// The disk is still locked by an instance that is gone.
	must(c.DeleteDisk(ctx, "box-data"))
	if all, err := c.Disks(ctx); err != nil || len(all) != 0 {
		t.Errorf("remaining disks: %v, %v", all, err)
	}
	var failed *CommandError
	if err := c.Create(ctx, "bad", []byte("cpus: [")); !errors.As(err, &failed) {
		t.Errorf("create with bad YAML: %v", err)
	}
	if exists(c.Dir("bad")) {
		t.Error("create with bad YAML leaves a directory")
	}
}

// dummyImage returns the path of a file that is not an image.
func dummyImage(t *testing.T, home string) string {
	t.Helper()
	if err := os.MkdirAll(home, 0o700); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(filepath.Dir(home), "image")
	if err := os.WriteFile(path, []byte("no image"), 0o644); err != nil {
		t.Fatal(err)
	}
	return path
}

// TestRealValidate validates every kind of template with the real limactl. For vz on Linux, limactl checks the schema,
// the types and the rules common to all drivers, but not those of the vz driver.
func TestRealValidate(t *testing.T) {
	c := realLima(t)
	if c == nil {
		return
	}
	for _, m := range []Machine{full("qemu", "amd64"), full("qemu", "arm64"), full("vz", "arm64"), machine("main", "data")} {
		yaml, err := m.YAML()
		if err != nil {
			t.Fatal(err)
		}
		if err := c.validate(t.Context(), yaml); err != nil {
			t.Errorf("%s %s: %v", m.VMType, m.Arch, err)
		}
		// Wrong templates must be refused.
		for _, wrong := range []string{"portForward: []\n", "cpus: four\n", "arch: z80\n"} {
			key, _, _ := strings.Cut(wrong, ":")
			if err := c.validate(t.Context(), append(without(yaml, key), wrong...)); err == nil {
				t.Errorf("%s was accepted", strings.TrimSpace(wrong))
			}
		}
	}
}

// without removes a top-level line from YAML.
func without(yaml []byte, key string) []byte {
	var out []byte
	for line := range strings.Lines(string(yaml)) {
		if !strings.HasPrefix(line, key+":") {
			out = append(out, line...)
		}
	}
	return out
}

// validate asks limactl whether it accepts an instance's YAML. An unknown field is an error, although limactl only
// warns of it. On Linux the rules of the vz driver are not checked, since limactl has no vz driver there.
func (c *Client) validate(ctx context.Context, yaml []byte) error {
	// The YAML is in a file, because limactl validate does not accept a template on stdin.
	dir, err := os.MkdirTemp("", "hermes-box-validate-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	file := filepath.Join(dir, "box.yaml")
	if err := os.WriteFile(file, yaml, 0o600); err != nil {
		return err
	}
	out, err := c.ask(ctx, "template", "validate", file)
	if err != nil {
		return err
	}
	for line := range strings.Lines(out.stderr) {
		if strings.HasPrefix(logField(line, "msg"), "Non-strict YAML") {
			return fmt.Errorf("template: %s", logField(strings.TrimRight(line, "\n"), "error"))
		}
	}
	return nil
}
