// Package race lets tests that enumerate faults try only some of them under the race detector. With the detector
// each fault takes several times as long, and most faults run the same code.
package race

// Every returns the step with which a test goes through its faults: n if the race detector is on, to try every nth
// fault, else 1.
func Every(n int) int {
	if Enabled {
		return n
	}
	return 1
}

// Sample returns every nth of the faults if the race detector is on, else all.
func Sample[T any](faults []T, n int) (sample []T) {
	for i := 0; i < len(faults); i += Every(n) {
		sample = append(sample, faults[i])
	}
	return sample
}
