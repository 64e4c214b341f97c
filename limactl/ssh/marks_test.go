package ssh

import (
	"bytes"
	"errors"
	"math/rand"
	"strings"
	"testing"
)

const testMark = "[hermes-box TEST]"

// pour writes data in pieces of the given sizes, which it repeats until all is written.
func pour(t *testing.T, m *markWriter, data []byte, sizes ...int) {
	t.Helper()
	for i := 0; len(data) > 0; i++ {
		n := min(sizes[i%len(sizes)], len(data))
		if n < 1 {
			n = 1
		}
		if _, err := m.Write(data[:n]); err != nil {
			t.Fatal(err)
		}
		data = data[n:]
	}
	m.flush()
}

func TestMarkWriter(t *testing.T) {
	for _, tt := range []struct {
		name, in, out, before string
		status                int
		reported              bool
	}{
		{"nothing", "", "", "", -1, false},
		{"output without a mark", "Connection refused\n", "", "Connection refused\n", -1, false},
		{"output", "noise@+data", "data", "noise", -1, false},
		{"signs of life", "@+da@.ta@.", "data", "", -1, false},
		{"end", "@+data@=0;", "data", "", 0, true},
		{"status 255", "@+@=255;", "", "", 255, true},
		{"output of a background process after the end", "@+a@=3;b", "ab", "", 3, true},
		{"almost a mark", "@+[hermes-box TES[hermes-box [", "[hermes-box TES[hermes-box [", "", -1, false},
		{"the mark of another session", "@+[hermes-box OTHER]=0;", "[hermes-box OTHER]=0;", "", -1, false},
	} {
		data := []byte(strings.ReplaceAll(tt.in, "@", testMark))
		for size := 1; size <= len(data)+1; size++ {
			var out bytes.Buffer
			m := &markWriter{mark: testMark, w: &out}
			pour(t, m, data, size)
			status, reported := m.status()
			if out.String() != tt.out || m.early() != tt.before || status != tt.status || reported != tt.reported {
				t.Errorf("%s in pieces of %d: out %q, before %q, status %d %v", tt.name, size, out.String(), m.early(), status, reported)
			}
		}
	}
}

// FuzzMarkWriter checks that the output of a command arrives unchanged, however it is divided into writes.
func FuzzMarkWriter(f *testing.F) {
	f.Add([]byte("hello"), int64(1))
	f.Add([]byte("[hermes-box TEST"), int64(2))
	f.Add(bytes.Repeat([]byte{0, 255, '['}, 100), int64(3))
	f.Fuzz(func(t *testing.T, data []byte, seed int64) {
		if bytes.Contains(data, []byte(testMark)) {
			return
		}
		r := rand.New(rand.NewSource(seed))
		stream := []byte("noise" + testMark + "+")
		for rest := data; len(rest) > 0; {
			n := 1 + r.Intn(len(rest))
			stream = append(append(stream, rest[:n]...), testMark+"."...)
			rest = rest[n:]
		}
		stream = append(stream, testMark+"=7;"...)
		var out bytes.Buffer
		m := &markWriter{mark: testMark, w: &out}
		pour(t, m, stream, 1+r.Intn(7), 1+r.Intn(50), 1+r.Intn(3))
		if !bytes.Equal(out.Bytes(), data) {
			t.Fatalf("%q arrived as %q", data, out.Bytes())
		}
		if status, ok := m.status(); status != 7 || !ok {
			t.Fatalf("status %d, %v", status, ok)
		}
	})
}

func TestMarkWriterKeepsTheError(t *testing.T) {
	m := &markWriter{mark: testMark, w: failingWriter{}}
	if _, err := m.Write([]byte(testMark + "+data")); !errors.Is(err, errTest) {
		t.Fatalf("got %v", err)
	}
	if err := m.failed(); !errors.Is(err, errTest) {
		t.Fatalf("got %v", err)
	}
}

var errTest = errors.New("test")

type failingWriter struct{}

func (failingWriter) Write([]byte) (int, error) { return 0, errTest }

// A program in the box can see the mark of its session. A status that never ends is passed on as output, so that it
// does not fill the memory.
func TestEndlessMarkIsPassedOn(t *testing.T) {
	var out strings.Builder
	m := &markWriter{mark: "[mark]", w: &out}
	for _, part := range []string{"[mark]+", "a[mark]=", strings.Repeat("7", 100), strings.Repeat("b", 100), "[mark]=3;"} {
		if _, err := m.Write([]byte(part)); err != nil {
			t.Fatal(err)
		}
		if len(m.held) > 64 {
			t.Fatalf("%d bytes are held back", len(m.held))
		}
	}
	if status, ok := m.status(); !ok || status != 3 || out.Len() != 201 {
		t.Errorf("status %d, %v; %d bytes", status, ok, out.Len())
	}
}
