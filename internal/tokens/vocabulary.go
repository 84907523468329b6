package tokens

import (
	"bytes"
	"compress/bzip2"
	_ "embed" // the vocabulary
	"encoding/binary"
	"hash/maphash"
	"io"
	"iter"
	"math"
	"sync"
	"unicode"
	"unicode/utf8"
)

// packed is o200k_base, each token by its length and its bytes, in the order of ranks. By bzip2 it is 0.3 MB smaller than
// deflated. As Go source it would be 6 MB of each binary.
//
//go:embed o200k.bz2
var packed []byte

const (
	// tokenCount is how many tokens there are.
	tokenCount = 199_998
	// unpackedSize is the size of packed when it is unpacked.
	unpackedSize = 1_597_669
)

// known is the vocabulary, unpacked by the first call.
var known = sync.OnceValue(func() *vocabulary { return unpack(packed) })

// vocabulary finds the ranks of tokens. It is a table of hashes in place of a map of texts,
// which takes 8 MB instead of 3.4, and as much again to make.
type vocabulary struct {
	texts []byte   // of all tokens, one after the other
	ends  []uint32 // where each ends
	slots []uint32 // a rank and some bits of its token's hash, at the hash's place or after it
	seed  maphash.Seed
}

const (
	rankMask = 1<<18 - 1  // of a slot: its rank
	slotMask = 1<<18 - 1  // of a hash: its place
	free     = ^uint32(0) // a slot without a token: no rank is so high
)

// rank returns a token's rank.
func (v *vocabulary) rank(text string) (uint32, bool) {
	hash := maphash.String(v.seed, text)
	bits := uint32(hash>>32) &^ rankMask
	for at := hash & slotMask; ; at = (at + 1) & slotMask {
		slot := v.slots[at]
		if slot == free {
			return 0, false
		}
		if slot&^rankMask == bits && string(v.text(slot&rankMask)) == text {
			return slot & rankMask, true
		}
	}
}

// text returns the token of a rank.
func (v *vocabulary) text(rank uint32) []byte {
	begin := uint32(0)
	if rank > 0 {
		begin = v.ends[rank-1]
	}
	return v.texts[begin:v.ends[rank]]
}

func (v *vocabulary) add(token []byte) {
	rank := uint32(len(v.ends))
	hash := maphash.Bytes(v.seed, token)
	at := hash & slotMask
	for v.slots[at] != free {
		at = (at + 1) & slotMask
	}
	v.slots[at] = uint32(hash>>32)&^rankMask | rank
	v.texts = append(v.texts, token...)
	v.ends = append(v.ends, uint32(len(v.texts)))
}

func unpack(packed []byte) *vocabulary {
	plain := make([]byte, unpackedSize)
	if _, err := io.ReadFull(bzip2.NewReader(bytes.NewReader(packed)), plain); err != nil {
		panic("tokens: the vocabulary: " + err.Error()) // it is part of the binary
	}
	v := &vocabulary{
		texts: plain[:0], // each text moves ahead, over the lengths before it
		ends:  make([]uint32, 0, tokenCount),
		slots: make([]uint32, slotMask+1),
		seed:  maphash.MakeSeed(),
	}
	for i := range v.slots {
		v.slots[i] = free
	}
	for len(plain) > 0 {
		length, size := binary.Uvarint(plain)
		end := size + int(length)
		v.add(plain[size:end])
		plain = plain[end:]
	}
	return v
}

// words cuts text as o200k_base does before it merges, with what its published pattern
// says, alternative by alternative and in their order:
//
//	[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+(?i:'s|'t|'re|'ve|'m|'ll|'d)?
//	[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*(?i:'s|'t|'re|'ve|'m|'ll|'d)?
//	\p{N}{1,3}
//	 ?[^\s\p{L}\p{N}]+[\r\n/]*
//	\s*[\r\n]+
//	\s+(?!\S)
//	\s+
//
// Each rune is in one of the words.
func words(text string) iter.Seq[string] {
	return func(yield func(string) bool) {
		for len(text) > 0 {
			n := word(text)
			if n == 0 || !yield(text[:n]) {
				return
			}
			text = text[n:]
		}
	}
}

// word is how long the first word of text is.
func word(text string) int {
	first, size := utf8.DecodeRuneInString(text)
	if first != '\r' && first != '\n' && !unicode.IsLetter(first) && !unicode.IsNumber(first) {
		if n := letters(text[size:], lowerEnd); n > 0 {
			return size + n
		}
	}
	if n := letters(text, lowerEnd); n > 0 {
		return n
	}
	if first != '\r' && first != '\n' && !unicode.IsLetter(first) && !unicode.IsNumber(first) {
		if n := letters(text[size:], upperEnd); n > 0 {
			return size + n
		}
	}
	if n := letters(text, upperEnd); n > 0 {
		return n
	}
	if unicode.IsNumber(first) {
		return run(text, 3, unicode.IsNumber)
	}
	if n := signs(text); n > 0 {
		return n
	}
	return spaces(text)
}

// letters is how long a word is that end finds the end of, with its contraction.
func letters(text string, end func(string) int) int {
	n := end(text)
	if n > 0 {
		n += contraction(text[n:])
	}
	return n
}

// lowerEnd is where capitals that end in at least one small letter end. What is both,
// of scripts without case, is taken as a small one where it has to be.
func lowerEnd(text string) int {
	capitals, last := 0, 0
	for n, r := range text {
		if !upper(r) {
			break
		}
		capitals = n + utf8.RuneLen(r)
		if lower(r) {
			last = capitals
		}
	}
	if n := run(text[capitals:], len(text), lower); n > 0 {
		return capitals + n
	}
	return last
}

// upperEnd is where at least one capital and the small letters after it end.
func upperEnd(text string) int {
	capitals := run(text, len(text), upper)
	if capitals == 0 {
		return 0
	}
	return capitals + run(text[capitals:], len(text), lower)
}

// contraction is how long the ending of an English word is, if text begins with one.
func contraction(text string) int {
	if len(text) < 2 || text[0] != '\'' {
		return 0
	}
	switch text[1] {
	case 's', 'S', 't', 'T', 'm', 'M', 'd', 'D':
		return 2
	case 0xc5: // the long s, whose capital is S
		if len(text) > 2 && text[2] == 0xbf {
			return 3
		}
		return 0
	}
	if len(text) > 2 {
		switch string([]byte{text[1] | 0x20, text[2] | 0x20}) {
		case "re", "ve", "ll":
			return 3
		}
	}
	return 0
}

// signs is how long a run of signs is, with a space before and the ends of lines after it.
func signs(text string) int {
	space := 0
	if text[0] == ' ' {
		space = 1
	}
	n := run(text[space:], len(text), func(r rune) bool {
		return !unicode.IsSpace(r) && !unicode.IsLetter(r) && !unicode.IsNumber(r)
	})
	if n == 0 {
		return 0
	}
	n += space
	for n < len(text) && (text[n] == '\r' || text[n] == '\n' || text[n] == '/') {
		n++
	}
	return n
}

// spaces is how long a run of spaces is: to its last end of a line, or without the one
// that belongs to the next word.
func spaces(text string) int {
	end, line, last := 0, 0, 0
	for n, r := range text {
		if !unicode.IsSpace(r) {
			break
		}
		last, end = n, n+utf8.RuneLen(r)
		if r == '\r' || r == '\n' {
			line = end
		}
	}
	switch {
	case line > 0:
		return line
	case end < len(text) && last > 0:
		return last
	}
	return end
}

// run is how long the head of text is whose runes are all of a kind, up to most runes.
func run(text string, most int, kind func(rune) bool) int {
	for n, r := range text {
		if most == 0 || !kind(r) {
			return n
		}
		most--
	}
	return len(text)
}

func upper(r rune) bool {
	if r < utf8.RuneSelf {
		return r >= 'A' && r <= 'Z'
	}
	return unicode.In(r, unicode.Lu, unicode.Lt, unicode.Lm, unicode.Lo, unicode.M)
}

func lower(r rune) bool {
	if r < utf8.RuneSelf {
		return r >= 'a' && r <= 'z'
	}
	return unicode.In(r, unicode.Ll, unicode.Lm, unicode.Lo, unicode.M)
}

// merged yields the tokens of a word: of two neighbours that are a token together,
// pairs of the lowest rank are merged, the first of them before others, until there are none.
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
	rank          uint32 // of the token it is with the next part
}

// none is the rank of what is no token, and of a part that is merged into another.
const none = math.MaxUint32

// look finds the rank of a part with the next one.
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

// join merges a part with the next one.
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

// A Piece is the shortest run of tokens that ends with a whole character: what a
// stream can send as one delta.
type Piece struct {
	// Text is valid UTF-8 if the split text was.
	Text string
	// Tokens is how many tokens Text is, at least one.
	Tokens int
}

// Pieces splits text into deltas. The texts concatenate to exactly text and the
// token counts add up to Count(text) where that is exact.
func Pieces(text string) []Piece {
	var out []Piece
	start, end, n := 0, 0, 0
	for t := range all(text) {
		end += len(t)
		n++
		if end == len(text) || whole(text[start:end]) {
			out = append(out, Piece{Text: text[start:end], Tokens: n})
			start, n = end, 0
		}
	}
	return out
}

// Cut returns the longest head of text that takes at most limit tokens and ends
// with a whole character, and how many tokens that is. It does only the work of
// the head, so that a small limit on a large text is cheap. A limit of zero or
// less returns the empty text.
func Cut(text string, limit int) (head string, used int) {
	end, n, kept := 0, 0, 0
	for t := range all(text) {
		if n++; n > limit {
			break
		}
		end += len(t)
		if whole(text[kept:end]) || end == len(text) {
			kept, used = end, n
		}
	}
	return text[:kept], used
}

// whole reports whether s does not stop in the middle of a character.
func whole(s string) bool {
	for i := len(s) - 1; i >= 0 && len(s)-i <= utf8.UTFMax; i-- {
		if utf8.RuneStart(s[i]) {
			return utf8.FullRuneInString(s[i:])
		}
	}
	return true
}
