package component

import (
	"strings"
	"testing"
)

func TestMentions(t *testing.T) {
	for _, tt := range []struct {
		text, version string
		want          bool
	}{
		{"v24.17.0\n", "24.17.0", true},
		{"uv 0.11.23 (abc 2026)", "0.11.23", true},
		{"2.1.332 (Claude Code)", "2.1.332", true},
		{"ends 1.2.", "1.2", true},
		{"Hermes Agent v0.19.0 (2026.7.20)", "0.19.0", true},
		{"1.2.3", "1.2", false},
		{"11.2", "1.2", false},
		{"0.1.2", "1.2", false},
		{"1.23", "1.2", false},
		{"1.2.3 and 1.2", "1.2", true},
		{"anything", "", false},
		{"", "1", false},
	} {
		if got := mentions(tt.text, tt.version); got != tt.want {
			t.Errorf("%q in %q: %v", tt.version, tt.text, got)
		}
	}
}

func TestWheelPin(t *testing.T) {
	for file, want := range map[string]string{
		"click-8.5.1-py3-none-any.whl":                               "click==8.5.1",
		"hermes_agent-0.19.0-py3-none-any.whl":                       "hermes_agent==0.19.0",
		"cffi-2.1.1-1-cp313-cp313-manylinux2014_x86_64.whl":          "cffi==2.1.1",
		"PyNaCl-1.5.0-cp36-abi3-manylinux_2_17_x86_64.m2014_x86.whl": "PyNaCl==1.5.0",
		"torch-2.0+cpu-cp313-cp313-linux_x86_64.whl":                 "torch==2.0+cpu",
		"click-8.5.1.tar.gz":                                         "",
		"click-8.5.1.whl":                                            "",
		"--index-url=x-1-py3-none-any.whl":                           "",
		"-r-1-py3-none-any.whl":                                      "",
		"a-@file-py3-none-any.whl":                                   "",
		strings.Repeat("x-", 9) + ".whl":                             "",
	} {
		got, err := wheelPin(file)
		if got != want || (err == nil) != (want != "") {
			t.Errorf("%s: %q, %v", file, got, err)
		}
	}
}

func FuzzWheelPin(f *testing.F) {
	f.Add("click-8.5.1-py3-none-any.whl")
	f.Add("-r-1-py3-none-any.whl")
	f.Fuzz(func(t *testing.T, file string) {
		pin, err := wheelPin(file)
		if err != nil {
			return
		}
		if name, version, ok := strings.Cut(pin, "=="); !ok || name == "" || version == "" || name[0] == '-' || strings.ContainsAny(pin, "/@ \t\n;[") {
			t.Errorf("%q gives %q", file, pin)
		}
	})
}
