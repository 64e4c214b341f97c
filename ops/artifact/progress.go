package artifact

import "sync"

// Progress is the progress of one artifact, and of all of them together, in bytes. Done decreases when a transfer
// starts over.
type Progress struct {
	Name     string
	Done     int64
	Total    int64
	AllDone  int64
	AllTotal int64
}

// meter sums the progress of all artifacts of one Fetch and reports it, one call at a time.
type meter struct {
	mu     sync.Mutex
	report func(Progress)
	done   int64
	total  int64
}

// counter counts the bytes of one artifact.
type counter struct {
	meter    *meter
	name     string
	done     int64
	total    int64
	reported int64 // bytes in the last report; -1: none yet
}

// step is the number of bytes between two reports.
const step = 1 << 20

func (m *meter) counter(name string, total int64) *counter {
	return &counter{meter: m, name: name, total: total, reported: -1}
}

// add adds n bytes, which may be negative.
func (c *counter) add(n int64) {
	m := c.meter
	m.mu.Lock()
	defer m.mu.Unlock()
	c.done += n
	m.done += n
	if m.report == nil {
		return
	}
	if moved := c.done - c.reported; c.reported < 0 || moved >= step || moved <= -step || (c.done == c.total && moved != 0) {
		c.reported = c.done
		m.report(Progress{c.name, c.done, c.total, m.done, m.total})
	}
}
