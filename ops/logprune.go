package ops

import (
	"os"
	"path/filepath"
	"regexp"
)

// What is kept of the logs of operations: the newest, as many and as large together as this.
const (
	operationLogs     = 100
	operationLogBytes = 64 << 20
)

var operationLogName = regexp.MustCompile(`^\d{8}T\d{6}Z-[a-z]+\.ndjson$`)

// pruneLogs removes the oldest logs of operations from a directory, beyond what is kept. The newest always stays, and so
// does every file that has another name. A log that cannot be removed stays too.
func pruneLogs(dir string) {
	entries, _ := os.ReadDir(dir) // sorted; the names begin with the time
	kept, size := 0, int64(0)
	for i := len(entries) - 1; i >= 0; i-- {
		e := entries[i]
		info, err := e.Info()
		if err != nil || !info.Mode().IsRegular() || !operationLogName.MatchString(e.Name()) {
			continue
		}
		size += info.Size()
		if kept++; kept > 1 && (kept > operationLogs || size > operationLogBytes) {
			_ = os.Remove(filepath.Join(dir, e.Name()))
		}
	}
}
