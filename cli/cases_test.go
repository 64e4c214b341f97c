package cli

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"hermes-box/ops"
)

// Reasons why a fault cannot happen to an operation, or needs no test of its own.
const (
	noStream   = "none: it sends and receives only short answers, so nothing can be cut within them"
	noWrites   = "none: on this machine it writes only small records, as all operations do"
	asRestore  = "none: the test of restore reboots the box after each step that both have, from boot on"
	asStream   = "none: it sends the data as restore does; the tests of restore kill it and cut the stream"
	boxGoes    = "none: the box is removed, so it does not matter whether it reboots"
	stopsFirst = "none: it stops the box, then does what start does, whose tests apply"
	boxIsOff   = "none: a box that reboots is stopped all the same"
	hostOnly   = "none: it does not use the box"
	oneRestart = "none: in the box it only restarts a service, which a reboot does too"
)

// faultCases names, for each operation, the tests of what can happen to it: it is killed after each step, killed or cut
// off within its stream, the disk gets full, the box reboots. Where there is no test, it says why.
var faultCases = map[string]struct{ killed, stream, full, reboot string }{
	"create":  {"TestKilledCreateIsUndone", "TestCreateInterruptedInItsFirstBackup", "TestAFullDiskFails", asRestore},
	"start":   {"TestKilledStartIsFinished", noStream, noWrites, "TestStartReportsAVMThatDies"},
	"stop":    {"TestKilledStopIsFinished", noStream, "TestForceWorksWithoutInodes", boxIsOff},
	"restart": {"TestKilledRestartIsFinishedByStart", noStream, noWrites, stopsFirst},
	"backup":  {"TestKilledBackup", "TestBackupCutAtRandomBytes", "TestBackupOnADiskThatGetsFull", "TestBackupOfABoxThatReboots"},
	"restore": {"TestKilledRestoreIsUndone", "TestRestoreKilledWithinTheStream", "TestRestoreOntoAFullDisk", "TestRestoreOfABoxThatReboots"},
	"destroy": {"TestKilledDestroyIsFinished", "TestDestroyCutOffWhileFrozen", "TestBackupOnAFullDisk", boxGoes},
	"drill":   {"TestDrillBox", asStream, "TestRestoreOntoAFullDisk", "TestDrillBoxThatReboots"},
	"key":     {"TestKilledKeyChangeIsFinished", noStream, "TestFailAtEachOperation", hostOnly},
	"setup":   {"TestKilledSetup", "TestSetupLosesItsConnection", noWrites, "TestKilledSetup"},
	"login":   {"TestLoginKilledOrCutOff", "TestLoginKilledOrCutOff", noWrites, oneRestart},
}

// Each operation has a row of fault cases, and each test that a row names exists.
func TestEachOperationHasFaultCases(t *testing.T) {
	var sources strings.Builder
	for _, dir := range []string{".", "../ops", "../ops/backup"} {
		files, err := filepath.Glob(filepath.Join(dir, "*_test.go"))
		if err != nil || len(files) == 0 {
			t.Fatal(dir, files, err)
		}
		for _, file := range files {
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			sources.Write(text)
		}
	}
	for _, o := range ops.Operations() {
		if _, ok := faultCases[o.Name]; !ok {
			t.Errorf("the operation %s has no row in faultCases", o.Name)
		}
	}
	tests := 0
	for name, row := range faultCases {
		if _, ok := ops.OperationNamed(name); !ok {
			t.Errorf("there is no operation %s", name)
		}
		for _, test := range []string{row.killed, row.stream, row.full, row.reboot} {
			if strings.HasPrefix(test, "none: ") {
				continue
			}
			tests++
			if test == "" {
				t.Errorf("%s: a case is empty", name)
			} else if !strings.Contains(sources.String(), "\nfunc "+test+"(") {
				t.Errorf("%s: there is no test %s", name, test)
			}
		}
	}
	t.Logf("%d operations, %d cases with a test", len(faultCases), tests)
}
