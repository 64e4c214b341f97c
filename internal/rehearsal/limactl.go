package rehearsal

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"gopkg.in/yaml.v3"
)

// Version is the version of Lima that the stand-in imitates.
const Version = "2.1.3"

func limactl(home string, args []string) int {
	if has(home, RefuseRoot) {
		fmt.Fprintln(os.Stderr, "limactl: must not run as the root user")
		return 1
	}
	verb := ""
	if len(args) > 0 {
		verb, args = args[0], args[1:]
	}
	switch verb {
	case "--version":
		fmt.Println("limactl version " + Version)
		return 0
	case "list":
		return list(home, args)
	case "disk":
		return disk(home, args)
	case "template":
		return validate(args)
	case "create":
		return create(home, args)
	case "start":
		return start(home, args)
	case "stop":
		return stop(home, args)
	case "delete":
		return remove(home, args)
	case "hostagent":
		return hostagent(home, args)
	case "driver":
		return driver(home, args)
	}
	return fatal("unknown command %q for \"limactl\"", verb)
}

func validate(args []string) int {
	_, args = flags(args)
	if len(args) != 2 || args[0] != "validate" {
		return fatal("unknown command for \"limactl template\"")
	}
	data, err := os.ReadFile(args[1])
	if err != nil {
		return fatal("%v", err)
	}
	if _, err := parse(data); err != nil {
		return fatal("failed to unmarshal YAML (%s): %v", args[1], err)
	}
	say("info", "`%s`: OK", args[1])
	return 0
}

func create(home string, args []string) int {
	set, rest := flags(args, "name")
	name := set["name"]
	if len(rest) != 1 || rest[0] != "-" || name == "" {
		return fatal("must pass instance name with --name when reading template from stdin")
	}
	data, err := io.ReadAll(os.Stdin)
	if err != nil {
		return fatal("%v", err)
	}
	dir := filepath.Join(home, name)
	if _, err := os.Stat(filepath.Join(dir, "lima.yaml")); err == nil {
		return fatal("instance `%s` already exists", name)
	}
	if _, err := os.Stat(dir); err == nil {
		return fatal("instance %q already exists (%q)", name, dir)
	}
	if _, err := parse(data); err != nil {
		return fatal("failed to unmarshal YAML (-): %v", err)
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return fatal("%v", err)
	}
	if has(home, CreateFails) {
		return fatal("no space left on device")
	}
	if err := os.WriteFile(filepath.Join(dir, "lima.yaml"), data, 0o644); err != nil {
		return fatal("%v", err)
	}
	if err := os.WriteFile(filepath.Join(dir, "disk"), nil, 0o644); err != nil { // its content is in GuestDir
		return fatal("%v", err)
	}
	if err := os.MkdirAll(GuestDir(home, name), 0o700); err != nil {
		return fatal("%v", err)
	}
	say("info", "Run `limactl start %s` to start the instance.", name)
	return 0
}

func list(home string, args []string) int {
	set, names := flags(args, "format")
	for has(home, ListHangs) {
		time.Sleep(10 * time.Millisecond)
	}
	all := instances(home)
	for _, name := range all {
		if _, err := os.Stat(filepath.Join(home, name, "lima.yaml")); err != nil {
			say("warning", "The directory `%s` does not look like a valid Lima directory: %v", home, err)
		}
	}
	if len(names) == 0 && len(all) == 0 {
		say("warning", "No instance found. Run `limactl create` to create an instance.")
		return 0
	}
	unmatched := false
	if len(names) == 0 {
		names = all
	}
	var found []*instance
	for _, name := range names {
		if !slices.Contains(all, name) {
			say("warning", "No instance matching %s found.", name)
			unmatched = true
			continue
		}
		in, err := load(home, name)
		if err != nil {
			return fatal("unable to load instance %s: %v", name, err)
		}
		found = append(found, in)
	}
	for _, in := range found {
		if len(in.errors) > 0 {
			fmt.Fprintf(os.Stderr, "time=\"2026-01-01T00:00:00Z\" level=warning msg=%q errors=%q\n",
				"instance `"+in.Name+"` has errors", fmt.Sprint(in.errors))
		}
	}
	if has(home, ListNoise) {
		fmt.Println("a newer version of something is available")
	}
	for _, in := range found {
		line, err := json.Marshal(in)
		if err != nil {
			return fatal("%v", err)
		}
		// With another --format, limactl reads its own output line by line, and fails at a long line.
		if set["format"] != "{{json .}}" && len(line) > 64<<10 {
			return fatal("bufio.Scanner: token too long")
		}
		fmt.Println(string(line))
	}
	if unmatched {
		return fatal("unmatched instances")
	}
	return 0
}

// config is the part of lima.yaml that the stand-in reads.
type config struct {
	VMType          string `yaml:"vmType"`
	Arch            string `yaml:"arch"`
	CPUs            int    `yaml:"cpus"`
	Memory          string `yaml:"memory"`
	Disk            string `yaml:"disk"`
	AdditionalDisks []struct {
		Name   string `yaml:"name" json:"name"`
		Format bool   `yaml:"format" json:"format"`
	} `yaml:"additionalDisks"`
	Images       []map[string]any `yaml:"images"`
	PortForwards []rule           `yaml:"portForwards"`
}

func parse(data []byte) (config, error) {
	var c config
	if err := yaml.Unmarshal(data, &c); err != nil {
		return c, err
	}
	if len(c.Images) == 0 {
		return c, fmt.Errorf("field `images` must be set")
	}
	return c, nil
}

// instances returns the names of the directories that Lima treats as instances.
func instances(home string) []string {
	entries, _ := os.ReadDir(home)
	var names []string
	for _, e := range entries {
		if e.IsDir() && !strings.HasPrefix(e.Name(), ".") && !strings.HasPrefix(e.Name(), "_") {
			names = append(names, e.Name())
		}
	}
	if has(home, StrayDirectory) {
		names = append(names, "stray")
	}
	return names
}
