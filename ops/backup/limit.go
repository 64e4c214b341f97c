package backup

import (
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"sync"
)

// memoryNeeded is the number of bytes that work on a pool may use, besides those that are in use when it begins. The
// buffers need about 80 MiB. Without a limit the garbage collector lets the heap grow to twice that.
const memoryNeeded = 100 << 20

var limited struct {
	sync.Mutex
	users  int
	before int64
}

// limitMemory sets the limit of the garbage collector, which is a soft one, until the returned function is called. A
// lower limit stays as it is.
func limitMemory() (done func()) {
	limited.Lock()
	defer limited.Unlock()
	if limited.users++; limited.users == 1 {
		limited.before = debug.SetMemoryLimit(-1)
		runtime.GC() // so that garbage does not count as memory in use
		in := []metrics.Sample{{Name: "/gc/heap/live:bytes"}}
		metrics.Read(in)
		debug.SetMemoryLimit(min(limited.before, int64(in[0].Value.Uint64())+memoryNeeded))
	}
	return func() {
		limited.Lock()
		defer limited.Unlock()
		if limited.users--; limited.users == 0 {
			debug.SetMemoryLimit(limited.before)
		}
	}
}
