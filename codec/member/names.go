package member

import "bytes"

// names are the names of all objects that are open, the innermost last, to find
// duplicates by. They are held in place, as pointers into itself would put all of it on
// the heap.
type names struct {
	first [32]span
	more  []span
	n     int
}

// scope is those of one of them: all from the first on.
type scope struct {
	from int
	many map[string]struct{}
}

// few is how many names of an object are compared one by one.
const few = 32

func (n *names) open() scope { return scope{from: n.n} }

func (n *names) close(s scope) {
	n.n = s.from
	n.more = n.more[:max(n.n-len(n.first), 0)]
}

func (n *names) at(i int) span {
	if i < len(n.first) {
		return n.first[i]
	}
	return n.more[i-len(n.first)]
}

func (n *names) push(name span) {
	if n.n < len(n.first) {
		n.first[n.n] = name
	} else {
		n.more = append(n.more, name)
	}
	n.n++
}

// add notes a name of the innermost object, unless it was there.
func (n *names) add(b []byte, s *scope, name span) bool {
	text := b[name.from:name.to]
	if s.many != nil {
		_, there := s.many[string(text)]
		s.many[string(text)] = struct{}{}
		return !there
	}
	for i := s.from; i < n.n; i++ {
		if other := n.at(i); bytes.Equal(b[other.from:other.to], text) {
			return false
		}
	}
	n.push(name)
	if n.n-s.from > few {
		s.many = make(map[string]struct{}, 4*few)
		for i := s.from; i < n.n; i++ {
			other := n.at(i)
			s.many[string(b[other.from:other.to])] = struct{}{}
		}
	}
	return true
}
