package tokens

import "math"

// merged yields the tokens of a word: of two neighbours that are a token together,
// those of the lowest rank are merged, the first of them ahead, until there are none.
// It takes O(n log n).
func merged(word string, yield func(string) bool) bool {
	known := known()
	if _, whole := known.rank(word); whole {
		return yield(word)
	}
	m := merge{word: word, known: known, parts: make([]part, len(word)+1)}
	for i := range m.parts {
		m.parts[i] = part{before: int32(i) - 1, after: int32(i) + 1, rank: none}
	}
	for i := range int32(len(word)) {
		m.look(i)
	}
	for len(m.heap) > 0 {
		if next := m.pop(); m.parts[next.at].rank == next.rank {
			m.join(next.at)
		}
	}
	for i := int32(0); int(i) < len(word); i = m.parts[i].after {
		if !yield(word[i:m.parts[i].after]) {
			return false
		}
	}
	return true
}

// merge is a word on its way to tokens. Its parts are a list, by where they begin; the
// last one is the word's end.
type merge struct {
	word  string
	known *vocabulary
	parts []part
	heap  []candidate
}

type part struct {
	before, after int32
	rank          uint32 // of the token it is with the part behind
}

// none is the rank of what is no token, and of a part that is merged into another.
const none = math.MaxUint32

// look finds the rank of a part with the one behind.
func (m *merge) look(at int32) {
	p := &m.parts[at]
	p.rank = none
	if int(p.after) >= len(m.word) {
		return
	}
	if rank, ok := m.known.rank(m.word[at:m.parts[p.after].after]); ok {
		p.rank = rank
		m.push(candidate{rank, at})
	}
}

// join merges a part with the one behind.
func (m *merge) join(at int32) {
	p := &m.parts[at]
	merged := &m.parts[p.after]
	merged.rank = none
	p.after = merged.after
	m.parts[p.after].before = at
	m.look(at)
	if p.before >= 0 {
		m.look(p.before)
	}
}

// candidate is a pair that could be merged, unless the part at its place has another
// rank by now.
type candidate struct {
	rank uint32
	at   int32
}

func (c candidate) less(d candidate) bool {
	return c.rank < d.rank || c.rank == d.rank && c.at < d.at
}

// push and pop keep the heap, the least ahead. container/heap would allocate each.
func (m *merge) push(c candidate) {
	m.heap = append(m.heap, c)
	for i := len(m.heap) - 1; i > 0; {
		up := (i - 1) / 2
		if !m.heap[i].less(m.heap[up]) {
			return
		}
		m.heap[i], m.heap[up] = m.heap[up], m.heap[i]
		i = up
	}
}

func (m *merge) pop() candidate {
	least, last := m.heap[0], len(m.heap)-1
	m.heap[0] = m.heap[last]
	m.heap = m.heap[:last]
	for i := 0; ; {
		down := 2*i + 1
		if down >= last {
			return least
		}
		if down+1 < last && m.heap[down+1].less(m.heap[down]) {
			down++
		}
		if !m.heap[down].less(m.heap[i]) {
			return least
		}
		m.heap[i], m.heap[down] = m.heap[down], m.heap[i]
		i = down
	}
}
