package cli

import (
	"os/exec"
	"testing"

	"hermes-box/guest/protocol/tree"
	"hermes-box/ops"
)

// backup show prints the size and the path of a file. If the path is pasted into bash, backup get gets the same bytes.
func TestBackupShowNames(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		file       ops.BackupFile
		size, want string
	}{
		{ops.BackupFile{Path: []byte("home/agent"), Type: tree.Dir}, "-", "home/agent/"},
		{ops.BackupFile{Path: []byte("a b"), Type: tree.File, Size: 3}, "3 B", "'a b'"},
		{ops.BackupFile{Path: []byte("l"), Type: tree.Symlink, Target: []byte("to it")}, "-", "l -> 'to it'"},
		{ops.BackupFile{Path: []byte("h"), Type: tree.File, Link: []byte("x/y")}, "0 B", "h, the same file as x/y"},
		{ops.BackupFile{Path: []byte("-x"), Type: tree.Fifo}, "-", "./-x"},
		{ops.BackupFile{Path: []byte("ä"), Type: tree.Fifo}, "-", "'ä'"},
	} {
		if name, size := fileName(c.file), fileSize(c.file); name != c.want || size != c.size {
			t.Errorf("%s: %s %s", c.file.Path, name, size)
		}
	}
	for _, path := range []string{"new\nline", "tab\t", "it's \x1b[31m", "\xff\xfe \\ \"", "a\u202eb", "$x `y` *"} {
		out, err := exec.Command("bash", "-c", "printf %s "+shellWord(path)).Output()
		if err != nil || string(out) != path {
			t.Errorf("%q: %s gives %q: %v", path, shellWord(path), out, err)
		}
	}
}
