package bootstrap

import (
	"os"
	"strings"
	"testing"

	"hermes-box/guest/durable"
)

func TestSetBlock(t *testing.T) {
	block := func(body string) string { return blockBegin + "\n" + body + blockEnd + "\n" }
	for _, c := range []struct{ name, text, want string }{
		{"empty", "", block("A=1\n")},
		{"appended", "X=1\n", "X=1\n" + block("A=1\n")},
		{"no newline at the end", "X=1", "X=1\n" + block("A=1\n")},
		{"replaced in place", "X=1\n" + block("old\n") + "Y=2\n", "X=1\n" + block("A=1\n") + "Y=2\n"},
		{"before the block of Lima", "X=1\n#LIMA-START\nP=1\n#LIMA-END\n", "X=1\n" + block("A=1\n") + "#LIMA-START\nP=1\n#LIMA-END\n"},
		{"Lima's block is first", "#LIMA-START\n#LIMA-END\n", block("A=1\n") + "#LIMA-START\n#LIMA-END\n"},
		{"replaced behind the block of Lima", "#LIMA-START\n" + block("old\n"), "#LIMA-START\n" + block("A=1\n")},
	} {
		got, err := setBlock(c.text, "A=1\n")
		if err != nil || got != c.want {
			t.Errorf("%s: %q, %v; want %q", c.name, got, err, c.want)
		}
	}
	for name, text := range map[string]string{
		"no end":             "X=1\n" + blockBegin + "\nA=1\n",
		"no begin":           blockEnd + "\n",
		"two blocks":         block("a\n") + block("b\n"),
		"a block in a block": blockBegin + "\n" + blockBegin + "\n" + blockEnd + "\n",
	} {
		if got, err := setBlock(text, "A=1\n"); err == nil {
			t.Errorf("%s: accepted as %q", name, got)
		}
	}
}

// Everything outside of the block stays, and setting the block again changes nothing.
func FuzzSetBlock(f *testing.F) {
	f.Add("X=1\nY=2", "A=1\n")
	f.Add(blockBegin+"\n"+blockEnd, "")
	f.Add("a\r\n"+blockBegin+"\r\nx\n"+blockEnd+"\nb", "B=2\n")
	f.Fuzz(func(t *testing.T, text, body string) {
		if strings.Contains(body, "hermes-box") || body != "" && !strings.HasSuffix(body, "\n") {
			t.Skip()
		}
		once, err := setBlock(text, body)
		if err != nil {
			return
		}
		twice, err := setBlock(once, body)
		if err != nil || twice != once {
			t.Fatalf("set a second time: %q, %v; want %q", twice, err, once)
		}
		head, rest, _ := strings.Cut(once, blockBegin+"\n"+body+blockEnd+"\n")
		if !strings.Contains(text, strings.TrimSuffix(head, "\n")) || !strings.HasSuffix(text, rest) {
			t.Fatalf("%q became %q", text, once)
		}
	})
}

func TestInstall(t *testing.T) {
	env := Env{Tree: durable.Tree{Root: t.TempDir()}}
	for i, c := range []struct {
		data    string
		mode    os.FileMode
		changed bool
	}{{"a", 0o644, true}, {"a", 0o644, false}, {"a", 0o755, true}, {"b", 0o755, true}} {
		changed, err := env.install("/usr/local/bin/x", []byte(c.data), c.mode)
		if err != nil || changed != c.changed {
			t.Errorf("%d: changed %v, %v", i, changed, err)
		}
	}
}
