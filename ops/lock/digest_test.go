package lock

import (
	"encoding/hex"
	"strings"
	"testing"

	"hermes-box/ops/fault"
)

func TestDigest(t *testing.T) {
	for _, c := range []struct{ text, algo string }{{sha256Of("x"), "sha256"}, {sha512Of("x"), "sha512"}} {
		d, err := ParseDigest(c.text)
		if err != nil {
			t.Fatal(err)
		}
		if d.Algo != c.algo || d.String() != c.text || d.Path() != c.algo+"/"+d.Hex {
			t.Errorf("%s: got %+v, %s, %s", c.text, d, d, d.Path())
		}
		h := d.New()
		h.Write([]byte("x"))
		if d.Sum(h) != d {
			t.Errorf("%s: summed to %s", d, d.Sum(h))
		}
	}
	// The digest that npm reports for Claude Code 2.1.177.
	d, err := ParseDigest("sha512-pbBlT4O36j60k7Zd1aPQlVU1HFFpvFaTTnrsWLAVKdIHK/EcLjVjE/qY8kz9/e62XerK/UhJrZ8GsLaBNQ+6Mw==")
	if err != nil || !strings.HasPrefix(d.Hex, "a5b0654f83b7ea3eb493b65d") || len(d.Hex) != 128 {
		t.Errorf("got %+v, %v", d, err)
	}
}

func TestDigestRefusals(t *testing.T) {
	good := strings.TrimPrefix(sha512Of("x"), "sha512-")
	spare := good[:85] + string(good[85]+1) + "==" // decodes to the same bytes if spare bits are ignored
	for _, s := range []string{
		"", "sha256:", "sha512-", "sha256:" + strings.Repeat("0", 63), "sha256:" + strings.Repeat("0", 65), "sha256:" + strings.Repeat("g", 64),
		"sha256:" + strings.Repeat("A", 64), "sha256-" + strings.Repeat("0", 64), "SHA256:" + strings.Repeat("0", 64), " " + sha256Of("x"), sha256Of("x") + "\n",
		"sha512:" + strings.Repeat("0", 128), "sha512-" + good[:87], "sha512-" + strings.TrimRight(good, "="), "sha512-" + good[:40] + "\n" + good[40:],
		"sha512-" + strings.ReplaceAll(good, "+", "-"), "sha512-" + spare, "sha384-" + good, "sha512-" + good + "=",
	} {
		if s == sha512Of("x") {
			continue // nothing was replaced
		}
		if d, err := ParseDigest(s); err == nil || fault.CodeOf(err) != fault.InvalidInput {
			t.Errorf("%q: got %+v, %v", s, d, err)
		}
	}
}

func FuzzParseDigest(f *testing.F) {
	f.Add(sha256Of("x"))
	f.Add(sha512Of("x"))
	f.Add("sha512-")
	f.Fuzz(func(t *testing.T, s string) {
		d, err := ParseDigest(s)
		if err != nil {
			return
		}
		raw, err := hex.DecodeString(d.Hex)
		if err != nil || len(raw) != map[string]int{"sha256": 32, "sha512": 64}[d.Algo] || d.String() != s {
			t.Errorf("%q became %+v, %q", s, d, d)
		}
	})
}
