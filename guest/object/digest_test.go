package object

import (
	"strings"
	"testing"
)

func FuzzName(f *testing.F) {
	f.Add("sha256:" + strings.Repeat("ab", 32))
	f.Add("sha512-" + strings.Repeat("A", 86) + "==")
	f.Add("sha256:../../etc/passwd")
	f.Fuzz(func(t *testing.T, digest string) {
		name, err := Name(digest)
		if err != nil {
			return
		}
		algo, enc, _ := strings.Cut(name, "/")
		if algo != "sha256" && algo != "sha512" || strings.Trim(enc, "0123456789abcdef") != "" {
			t.Fatalf("%q gives %q", digest, name)
		}
		back, err := digestOf(name)
		if err != nil {
			t.Fatal(err)
		}
		if again, err := Name(back); again != name || err != nil {
			t.Fatalf("%q gives %q gives %q", name, back, again)
		}
	})
}

func FuzzDigestOf(f *testing.F) {
	f.Add("sha256/" + strings.Repeat("ab", 32))
	f.Add("sha256/../../x")
	f.Fuzz(func(t *testing.T, name string) {
		digest, err := digestOf(name)
		if err != nil {
			return
		}
		if back, err := Name(digest); back != name || err != nil {
			t.Fatalf("%q gives %q gives %q, %v", name, digest, back, err)
		}
	})
}
