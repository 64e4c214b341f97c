package protocol

import "testing"

func TestReleaseDigest(t *testing.T) {
	a, b := Artifact{Name: "a", Digest: "sha256:aa"}, Artifact{Name: "b", Digest: "sha512-bb"}
	// printf 'sha256:aa\nsha512-bb\n' | sha256sum
	const want = "sha256:6d3e47e960397f9fb57ac9270bf85ec07b9c1ae4bedc0c965752778e33796619"
	if got := ReleaseDigest([]Artifact{a, b}); got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	if ReleaseDigest([]Artifact{b, a}) == want {
		t.Error("the digest does not depend on the order of the artifacts")
	}
	renamed := a
	renamed.Name = "other"
	if ReleaseDigest([]Artifact{renamed, b}) != want {
		t.Error("the digest depends on the name of an artifact")
	}
}
