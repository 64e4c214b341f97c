package backup

import "slices"

// keepRecent is how many chunks are kept in memory. An unchanged file stays in the chunk that it was first stored in,
// so neighbouring files may be in different chunks, and reading them in order needs these chunks alternately.
const keepRecent = 4

// recent is the chunks that were used last, the newest at the end. Its content depends only on the order of the calls,
// so that the checker of a bundle knows which chunks its reader will load, and when.
type recent struct {
	numbers []int32
	plain   [][]byte
}

// find returns the position of a chunk, and makes it the newest; -1 if it is not there.
func (r *recent) find(number int32) int {
	i := slices.Index(r.numbers, number)
	if i < 0 {
		return -1
	}
	plain := r.plain[i]
	last := len(r.numbers) - 1
	copy(r.numbers[i:], r.numbers[i+1:])
	copy(r.plain[i:], r.plain[i+1:])
	r.numbers[last], r.plain[last] = number, plain
	return last
}

// add adds a chunk as the newest, and returns the plaintext of the one that it replaces.
func (r *recent) add(number int32, plain []byte) (old []byte) {
	if len(r.numbers) == keepRecent {
		old = r.plain[0]
		copy(r.numbers, r.numbers[1:])
		copy(r.plain, r.plain[1:])
		r.numbers[keepRecent-1], r.plain[keepRecent-1] = number, plain
		return old
	}
	r.numbers, r.plain = append(r.numbers, number), append(r.plain, plain)
	return nil
}

// misses appends the chunks that must be loaded to read refs.
func (r *recent) misses(loads []int32, refs []ref) []int32 {
	for _, f := range refs {
		if number := int32(f[0]); r.find(number) < 0 {
			loads = append(loads, number)
			r.add(number, nil)
		}
	}
	return loads
}
