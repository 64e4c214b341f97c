package spell

import (
	"strings"
	"testing"
)

func TestNearest(t *testing.T) {
	known := []string{"cpus", "memory", "root_disk", "data_disk", "executor", "name", "status", "start"}
	for key, want := range map[string]string{"cpu": "cpus", "CPUS": "cpus", "mem": "memory", "memroy": "memory", "root-disk": "root_disk", "disk": "",
		"exeuctor": "executor", "stauts": "status", "STRAT": "start", "sta": "status", "stop-it": "", "nmae": "name", "nome": "name", "": "", "x": "", "swap": "", strings.Repeat("x", 1000): ""} {
		if got := Nearest(key, known); got != want {
			t.Errorf("%.20q: %q, want %q", key, got, want)
		}
	}
}
