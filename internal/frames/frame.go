package frames

import "encoding/binary"

// The types of frames and the errors that matter here (RFC 9113, sections 6 and 7).
const (
	data      = 0x0
	headers   = 0x1
	rstStream = 0x3
	settings  = 0x4
	ping      = 0x6

	continuation = 0x9

	flagEndStream = 0x1 // of data and headers
	flagACK       = 0x1 // of settings and ping
	flagPadded    = 0x8 // of data and headers
	flagPriority  = 0x20

	noError = 0x0
	cancel  = 0x8

	headSize = 9
	rstSize  = headSize + 4
	// paddedSize is up to the length of the padding.
	paddedSize   = headSize + 1
	prioritySize = 5 // of a priority in HEADERS
)

// smallData is the length of DATA, in bytes, from which it is worth its frame.
const smallData = 64

// frame is what is known of a frame.
type frame struct {
	kind, flags byte
	// length is that of the payload, without padding, its length and a priority.
	length int
	stream uint32
	code   uint32 // of an RST_STREAM
}

// cost is that of a peer's frame that neither opens nor resets a stream: 1 if it carries
// nothing worth its work, as a fair part of a body is. Acknowledgements are of what was
// asked for.
func (f frame) cost() int64 {
	switch {
	case f.kind == data && (f.length >= smallData || f.flags&flagEndStream != 0),
		(f.kind == settings || f.kind == ping) && f.flags&flagACK != 0:
		return 0
	case (f.kind == headers || f.kind == continuation) && f.length > largeHead:
		return largeHeadCost
	}
	return 1
}

// reader finds the frames of one direction in pieces of any length.
type reader struct {
	head [rstSize]byte
	have int
	skip int // bytes of the current frame's payload that are to come
}

// next returns the next frame and the bytes behind its head; whole is false at the end of p.
func (r *reader) next(p []byte) (rest []byte, f frame, whole bool) {
	skipped := min(r.skip, len(p))
	r.skip -= skipped
	p = p[skipped:]
	size := headSize
	if r.have >= headSize {
		size = r.whole()
	}
	for {
		n := copy(r.head[r.have:size], p)
		r.have += n
		p = p[n:]
		if r.have < size {
			return nil, frame{}, false
		}
		if size == headSize && r.whole() > headSize {
			size = r.whole()
			continue
		}
		length := r.length()
		f = frame{kind: r.head[3], flags: r.head[4], length: length, stream: binary.BigEndian.Uint32(r.head[5:9]) & (1<<31 - 1)}
		switch size {
		case rstSize:
			f.code = binary.BigEndian.Uint32(r.head[headSize:])
		case paddedSize:
			f.length -= 1 + int(r.head[headSize])
		}
		if f.kind == headers && f.flags&flagPriority != 0 {
			f.length -= prioritySize
		}
		f.length = max(f.length, 0)
		r.have, r.skip = 0, length-(size-headSize)
		return p, f, true
	}
}

// length is that of the current frame's payload.
func (r *reader) length() int { return int(binary.BigEndian.Uint32(r.head[:4]) >> 8) }

// whole is how many bytes of the current frame are looked at, its head included.
func (r *reader) whole() int {
	switch kind, length := r.head[3], r.length(); {
	case kind == rstStream && length >= rstSize-headSize:
		return rstSize
	case (kind == data || kind == headers) && r.head[4]&flagPadded != 0 && length > 0:
		return paddedSize
	}
	return headSize
}
