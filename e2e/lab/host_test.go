package main

import (
	"os"
	"slices"
	"strings"
	"testing"
)

func TestTranslateSources(t *testing.T) {
	targets := `http://mirror/debian/ bookworm main
http://mirror/debian/ bookworm-updates main
http://mirror/debian/ bookworm contrib
http://mirror/debian-security/ bookworm-security main
http://mirror/debian-security/ bookworm-security main
http://mirror/debian/ bookworm-backports main
http://elsewhere/node nodistro main
`
	want := []string{
		"deb http://mirror/debian/ trixie main",
		"deb http://mirror/debian/ trixie-updates main",
		"deb http://mirror/debian-security/ trixie-security main",
	}
	if got := translateSources(targets, "bookworm", "trixie"); !slices.Equal(got, want) {
		t.Fatalf("got %q", got)
	}
}

func TestWithBackports(t *testing.T) {
	sources := []string{"deb http://mirror/debian/ bookworm-updates main", "deb http://mirror/debian/ bookworm main"}
	want := append(slices.Clone(sources), "deb http://mirror/debian/ bookworm-backports main")
	if got := withBackports(sources, "bookworm"); !slices.Equal(got, want) {
		t.Errorf("got %q", got)
	}
	if got := withBackports(sources[:1], "bookworm"); !slices.Equal(got, sources[:1]) {
		t.Errorf("without the release itself: %q", got)
	}
}

func TestOSRelease(t *testing.T) {
	text := "NAME=\"Debian GNU/Linux\"\nID=debian\nVERSION_CODENAME=bookworm\n"
	for key, want := range map[string]string{"ID": "debian", "NAME": "Debian GNU/Linux", "VERSION_CODENAME": "bookworm", "VERSION": ""} {
		if got := osRelease(text, key); got != want {
			t.Errorf("%s is %q, want %q", key, got, want)
		}
	}
}

func TestMissingPackages(t *testing.T) {
	got := missingPackages([]tool{{"here", "a"}, {"gone", "b"}, {"lost", "c"}}, func(p string) bool { return p == "here" })
	if !slices.Equal(got, []string{"b", "c"}) {
		t.Fatalf("got %q", got)
	}
}

func TestLimaVersionMatchesGoMod(t *testing.T) {
	mod, err := os.ReadFile("../limactl/go.mod")
	if err != nil {
		t.Fatal(err)
	}
	if line := "require " + limaModule + " v" + limaVersion + "\n"; !strings.Contains(string(mod), line) {
		t.Fatalf("../limactl/go.mod has no line %q", line)
	}
}
