package guest_test

import (
	"context"
	"os"
	"testing"
)

func TestVersions(t *testing.T) {
	b := newBox(t)
	if v, err := b.Versions(context.Background()); err != nil || len(v.Components) != 0 {
		t.Fatalf("on a guest without components: %+v, %v", v, err)
	}
	must(t, b.apply(1))
	v, err := b.Versions(context.Background())
	if err != nil || len(v.Components) != len(order) {
		t.Fatalf("%+v, %v", v, err)
	}
	for i, c := range v.Components {
		if c.Name != order[i] || c.Applied == "" || c.Problem != "" {
			t.Errorf("%+v", c)
		}
	}
	program := b.Path("/opt/hermes-box/current/claude/bin/claude")
	if err := os.Chmod(program, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(program, []byte("#!/bin/sh\necho another thing\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	v, err = b.Versions(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range v.Components {
		if (c.Name == "claude") != (c.Problem != "") {
			t.Errorf("with a changed claude: %+v", c)
		}
	}
}
