package ops

import (
	"context"
	"errors"
	"os"
	"strings"
	"testing"

	"hermes-box/ops/backup"
	"hermes-box/ops/config"
	"hermes-box/ops/fault"
)

// A backup that another process deletes while it is read is called deleted, not damaged. An interrupt stays one.
func TestDeletedMeanwhile(t *testing.T) {
	b := &Box{Host: &Host{Dir: t.TempDir()}, Config: &config.Config{Name: "main"}}
	read := errors.New("the backup 20260101T000000Z is damaged")
	if err := os.MkdirAll(b.Pool(), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := b.deletedMeanwhile(t.Context(), "20260101T000000Z", read); fault.CodeOf(err) != fault.NotFound || !strings.Contains(err.Error(), "was deleted while it was read") {
		t.Error(err)
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if err := b.deletedMeanwhile(ended, "20260101T000000Z", read); err != read {
		t.Error(err)
	}
	if err := os.WriteFile(b.Pool()+"/20260101T000000Z.age", nil, 0o600); err != nil { // listed, with a missing envelope
		t.Fatal(err)
	}
	if err := b.deletedMeanwhile(t.Context(), "20260101T000000Z", read); err != read {
		t.Error(err)
	}
}

// A file in place of the directory of the backups is an error that names it.
func TestPoolIsAFile(t *testing.T) {
	b := &Box{Host: &Host{Dir: t.TempDir()}, Config: &config.Config{Name: "main"}}
	if err := os.Mkdir(b.Dir+"/backups", 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(b.Pool(), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	_, err := backup.List(b.Pool())
	if err == nil || !strings.Contains(err.Error(), b.Pool()+" should be the directory of the backups") || !strings.Contains(fault.HintOf(err), "ls -l ") {
		t.Errorf("%v; hint %s", err, fault.HintOf(err))
	}
}
