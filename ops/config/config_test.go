package config

import (
	"bytes"
	"errors"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"

	"hermes-box/ops/fault"
)

func TestDefaults(t *testing.T) {
	want := Config{
		Name:   "main",
		VM:     VM{CPUs: 4, Memory: 8 << 30, RootDisk: 30 << 30, DataDisk: 50 << 30},
		Ports:  Ports{Executor: 4788, Dashboard: 9119},
		Backup: Backup{Keep: 5},
	}
	for name, text := range map[string]string{
		"least": "schema: 1\nname: main\n",
		"empty": "schema: 1\nname: main\nvm: {}\nports: {}\nbackup: {}\n",
	} {
		got, err := Parse("hermes-box.yaml", []byte(text))
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if *got != want {
			t.Errorf("%s: got %+v, want %+v", name, *got, want)
		}
	}
}

func TestValues(t *testing.T) {
	got, err := Parse("f", []byte(`# all of it
schema: 1
name: a-2345678901234567890123456789-z
vm: {cpus: 1, memory: 512MiB, root_disk: 4GiB, data_disk: 1025MiB}
ports: {executor: 1024, dashboard: 65535}
backup: {keep: 1}
`))
	if err != nil {
		t.Fatal(err)
	}
	want := Config{
		Name:   "a-2345678901234567890123456789-z",
		VM:     VM{CPUs: 1, Memory: 512 << 20, RootDisk: 4 << 30, DataDisk: 1025 << 20},
		Ports:  Ports{Executor: 1024, Dashboard: 65535},
		Backup: Backup{Keep: 1},
	}
	if *got != want {
		t.Errorf("got %+v, want %+v", *got, want)
	}
}

func TestRefusals(t *testing.T) {
	const head = "schema: 1\nname: main\n"
	for _, c := range []struct{ name, text, want string }{
		{"no schema", "name: main\n", "f:1: schema: found no such key; accepted: 1"},
		{"another schema", "schema: 2\nname: main\n", "f:1: schema: found the number 2; accepted: 1"},
		{"schema as text", "schema: \"1\"\nname: main\n", `f:1: schema: found "1"; accepted: 1`},
		{"no name", "schema: 1\n", "f:1: name: found no such key; accepted: at most 32 letters"},
		{"name in capitals", "schema: 1\nname: Main\n", `f:2: name: found "Main"; accepted: at most 32 letters`},
		{"name begins with a digit", "schema: 1\nname: 1a\n", `f:2: name: found "1a"`},
		{"name too long", "schema: 1\nname: " + strings.Repeat("a", 33) + "\n", `f:2: name: found "aaa`},
		{"name ends with a dash", "schema: 1\nname: a-\n", `f:2: name: found "a-"; accepted: at most 32 letters a to z, digits and single dashes`},
		{"name with two dashes", "schema: 1\nname: a--b\n", `f:2: name: found "a--b"; accepted: at most 32 letters`},
		{"name with a path", "schema: 1\nname: ../x\n", `f:2: name: found "../x"`},
		{"name with a line break", "schema: 1\nname: \"main\\n\"\n", `f:2: name: found "main\n"`},
		{"name is a truth value", "schema: 1\nname: true\n", `f:2: name: found the truth value true; accepted: "true", in quotes`},
		{"unknown", head + "vm: {cpu: 4}\n", "f:3: vm.cpu: found an unknown key, did you mean cpus?; accepted: cpus, memory, root_disk, data_disk"},
		{"unknown at top", head + "port: 1\n", "f:3: port: found an unknown key, did you mean ports?; accepted: schema, name, vm, ports, backup"},
		{"no unit", head + "vm: {memory: 8}\n", "f:3: vm.memory: found the number 8; accepted: a whole number of MiB or GiB from 512MiB to 4096GiB, such as 8GiB"},
		{"decimal unit", head + "vm: {memory: 8GB}\n", `f:3: vm.memory: found "8GB"`},
		{"space before unit", head + "vm: {memory: 8 GiB}\n", `f:3: vm.memory: found "8 GiB"`},
		{"fraction", head + "vm: {memory: 1.5GiB}\n", `f:3: vm.memory: found "1.5GiB"`},
		{"negative", head + "vm: {memory: -1GiB}\n", `f:3: vm.memory: found "-1GiB"`},
		{"too little memory", head + "vm: {memory: 511MiB}\n", `f:3: vm.memory: found "511MiB"`},
		{"absurd disk", head + "vm: {data_disk: 9999999999GiB}\n", `f:3: vm.data_disk: found "9999999999GiB"`},
		{"overflow", head + "vm: {data_disk: 99999999999999999999GiB}\n", `f:3: vm.data_disk: found`},
		{"no cpus", head + "vm: {cpus: 0}\n", "f:3: vm.cpus: found the number 0; accepted: a whole number from 1 to 256"},
		{"low port", head + "ports: {executor: 1023}\n", "f:3: ports.executor: found the number 1023; accepted: a whole number from 1024 to 65535"},
		{"high port", head + "ports: {dashboard: 65536}\n", "f:3: ports.dashboard: found the number 65536; accepted: a whole number from 1024 to 65535"},
		{"equal ports", head + "ports:\n  executor: 5000\n  dashboard: 5000\n", "f:5: ports.dashboard: found 5000 for both ports; accepted: two different ports"},
		{"equal to a default", head + "ports: {executor: 9119}\n", "f:3: ports.executor: found 9119 for both ports; accepted: two different ports"},
		{"equal to the other default", head + "ports: {dashboard: 4788}\n", "f:3: ports.dashboard: found 4788 for both ports"},
		{"every is not a period", head + "backup: {every: 5h}\n", "f:3: backup.every: found \"5h\"; accepted: one of 1h, 2h, 3h, 4h, 6h, 8h, 12h, 1d, 7d"},
		{"keep none", head + "backup: {keep: 0}\n", "f:3: backup.keep: found the number 0; accepted: a whole number from 1 to 1000"},
		{"vm is nothing", head + "vm:\n", "f:3: vm: found nothing; accepted: a mapping"},
		{"empty", "", "f:1: found an empty file"},
		{"bom", "\ufeff" + head, "f:1: found a byte order mark"},
		{"tab", head + "vm:\n\tcpus: 4\n", "f:4: found a tab; accepted: spaces"},
		{"duplicate", head + "name: other\n", "f:3: name: found a repeated key (first on line 2)"},
		{"documents", head + "---\n" + head, "f:3: found a second document"},
		{"anchor", head + "vm: &a {cpus: 4}\n", "f:3: vm: found the anchor &a"},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := Parse("f", []byte(c.text))
			if err == nil {
				t.Fatal("accepted")
			}
			if !strings.HasPrefix(err.Error(), c.want) || strings.Contains(err.Error(), "\n") {
				t.Errorf("got  %s\nwant %s", err, c.want)
			}
		})
	}
}

func TestEveryProblemIsReported(t *testing.T) {
	_, err := Parse("f", []byte("schema: 3\nname: X\nvm: {memory: 8GB}\nports: {executor: 1}\n"))
	for _, want := range []string{"f:1: schema", "f:2: name", "f:3: vm.memory", "f:4: ports.executor"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s is not in %v", want, err)
		}
	}
}

// least returns the smallest config of a box with this name.
func least(name string) []byte { return []byte("schema: 1\nname: " + name + "\n") }

// Lima accepts every name that a config may have. Its rule for names is that of containerd's identifiers, which refuses
// "a-" and "a--b".
func TestLimaTakesEachName(t *testing.T) {
	lima := regexp.MustCompile(`^[A-Za-z0-9]+(?:[._-](?:[A-Za-z0-9]+))*$`)
	var names []string
	for n := 1; n <= 5; n++ {
		for i := range int(math.Pow(3, float64(n))) {
			name := ""
			for range n {
				name += string("a0-"[i%3])
				i /= 3
			}
			names = append(names, name)
		}
	}
	valid := 0
	for _, name := range append(names, strings.Repeat("a", 32), strings.Repeat("a", 33)) {
		if ValidName(name) {
			valid++
			if !lima.MatchString(name+"-data") || len(name) > 32 {
				t.Errorf("%q", name)
			}
		} else if lima.MatchString(name) && name[0] == 'a' && len(name) <= 32 {
			t.Errorf("%q is refused", name)
		}
	}
	if valid < 50 {
		t.Errorf("only %d names are valid", valid)
	}
}

// A file that is too large is refused, and the hint asks whether it is the right one.
func TestTooLarge(t *testing.T) {
	path := filepath.Join(t.TempDir(), "large.yaml")
	if err := os.WriteFile(path, append(least("main"), bytes.Repeat([]byte("# x\n"), limit/4)...), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := Load(path); fault.CodeOf(err) != fault.InvalidInput || !strings.HasSuffix(err.Error(), "larger than 64 KiB") || !strings.Contains(fault.HintOf(err), "is this the right file? ls -l "+path) {
		t.Errorf("%v, hint %q", err, fault.HintOf(err))
	}
}

func TestFormatSize(t *testing.T) {
	for bytes, want := range map[int64]string{8 << 30: "8GiB", 512 << 20: "512MiB", 1025 << 20: "1025MiB", 1 << 30: "1GiB"} {
		if got := FormatSize(bytes); got != want {
			t.Errorf("%d: got %s, want %s", bytes, got, want)
		}
		if got := parseSize(want); got != bytes {
			t.Errorf("%s: got %d, want %d", want, got, bytes)
		}
	}
}

func TestLocate(t *testing.T) {
	dir := t.TempDir()
	t.Chdir(dir)
	t.Setenv(EnvPath, "")
	refused := func(flag, want string) {
		t.Helper()
		path, err := Locate(flag)
		if err == nil {
			t.Fatalf("found %s", path)
		}
		if !strings.Contains(err.Error(), want) || fault.CodeOf(err) != fault.InvalidInput || fault.HintOf(err) == "" {
			t.Errorf("got %v (%s, hint %q), want %s", err, fault.CodeOf(err), fault.HintOf(err), want)
		}
	}
	found := func(flag, want string) {
		t.Helper()
		if got, err := Locate(flag); err != nil || got != want {
			t.Errorf("got %q, %v; want %q", got, err, want)
		}
	}
	write := func(name string) {
		t.Helper()
		if err := os.WriteFile(name, least("main"), 0o600); err != nil {
			t.Fatal(err)
		}
	}

	refused("", "no config file hermes-box.yaml (from the current directory): no such file or directory")
	write(FileName)
	found("", FileName)
	t.Setenv(EnvPath, "env.yaml")
	refused("", "no config file env.yaml (from HERMES_BOX_CONFIG)") // does not fall back to another file
	write("env.yaml")
	found("", "env.yaml")
	refused("flag.yaml", "no config file flag.yaml (from --config)")
	write("flag.yaml")
	found("flag.yaml", "flag.yaml")
	refused(".", "config . (from --config) is not a regular file")
	t.Setenv("HOME", "/home/someone")
	refused("~/box.yaml", "no config file ~/box.yaml (from --config)")
	if _, err := Locate("~/box.yaml"); fault.HintOf(err) != "name it in full: /home/someone/box.yaml" {
		t.Errorf("a quoted ~: hint %q", fault.HintOf(err))
	}
}

// The hint is a command that works as it is, and makes a valid config.
func TestHintMakesAConfig(t *testing.T) {
	path := filepath.Join(t.TempDir(), "it's a box.yaml")
	_, err := Locate(path)
	if out, err := exec.Command("sh", "-c", fault.HintOf(err)).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	if path, err = Locate(path); err != nil {
		t.Fatal(err)
	}
	if c, err := Load(path); err != nil || c.Name != "main" {
		t.Errorf("got %+v, %v", c, err)
	}
}

func TestLoadSetsPathAndDir(t *testing.T) {
	real, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	link := filepath.Join(t.TempDir(), "link")
	if err := os.Symlink(real, link); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(real, "box.yaml"), least("other"), 0o600); err != nil {
		t.Fatal(err)
	}
	t.Chdir(real)
	for _, path := range []string{"box.yaml", "./box.yaml", filepath.Join(real, "box.yaml"), filepath.Join(link, "box.yaml")} {
		c, err := Load(path)
		if err != nil {
			t.Fatal(err)
		}
		if c.Dir != real || c.Path != filepath.Join(real, "box.yaml") || c.Name != "other" {
			t.Errorf("%s: dir %s, path %s, name %s", path, c.Dir, c.Path, c.Name)
		}
	}
	if _, err := Load("none.yaml"); err == nil || fault.CodeOf(err) != fault.InvalidInput || fault.HintOf(err) == "" {
		t.Errorf("missing file: %v", err)
	}
}

// A path that is not a regular file, or a file that is too large, is refused with a hint that names it.
func TestOnlyAFileIsAConfig(t *testing.T) {
	dir := t.TempDir()
	for name, put := range map[string]func(path string) error{
		"pipe":      func(path string) error { return syscall.Mkfifo(path, 0o600) },
		"directory": func(path string) error { return os.Mkdir(path, 0o700) },
		"loop":      func(path string) error { return os.Symlink(path, path) },
		"too large": func(path string) error {
			return errors.Join(os.WriteFile(path, nil, 0o600), os.Truncate(path, 3<<30))
		},
	} {
		path := filepath.Join(dir, name)
		if err := put(path); err != nil {
			t.Fatal(err)
		}
		for called, do := range map[string]func() error{
			"Load":   func() error { _, err := Load(path); return err },
			"Locate": func() error { _, err := Locate(path); return err },
		} {
			if called == "Locate" && name == "too large" {
				continue
			}
			err := do()
			if hint := fault.HintOf(err); fault.CodeOf(err) != fault.InvalidInput || !strings.Contains(hint, path) || strings.Contains(hint, "chmod") {
				t.Errorf("%s of a %s: %v; %s", called, name, err, hint)
			}
		}
	}
}

func TestNoEnvironmentOverridesAValue(t *testing.T) {
	for _, key := range []string{"HERMES_BOX_NAME", "HERMES_BOX_VM_CPUS", "HERMES_BOX_PORTS_EXECUTOR"} {
		t.Setenv(key, "7777")
	}
	c, err := Parse("f", least("main"))
	if err != nil || c.Name != "main" || c.VM.CPUs != 4 || c.Ports.Executor != 4788 {
		t.Errorf("got %+v, %v", c, err)
	}
}

func FuzzParse(f *testing.F) {
	f.Add(least("main"))
	f.Add([]byte("schema: 1\nname: main\nvm: {cpus: 1, memory: 512MiB}\nports: {executor: 9119}\n"))
	f.Add([]byte("schema: 1\nname: main\nbackup: {keep: 1}\n---\n"))
	f.Fuzz(func(t *testing.T, data []byte) {
		c, err := Parse("f", data)
		if err != nil {
			if fault.CodeOf(err) != fault.InvalidInput || !strings.HasPrefix(err.Error(), "f:") {
				t.Fatalf("%v", err)
			}
			return
		}
		if !ValidName(c.Name) || c.Ports.Executor == c.Ports.Dashboard || c.Ports.Executor < 1024 || c.Ports.Dashboard < 1024 ||
			c.VM.CPUs < 1 || c.VM.Memory < 512<<20 || c.VM.RootDisk < 4<<30 || c.VM.DataDisk < 1<<30 || c.Backup.Keep < 1 {
			t.Fatalf("accepted %+v", *c)
		}
	})
}
