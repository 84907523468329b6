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

	noError = 0x0
	cancel  = 0x8

	headSize = 9
	rstSize  = headSize + 4
)

// smallData is the length of DATA, in bytes, from which it is worth its frame.
const smallData = 64

// frame is what is known of a frame.
type frame struct {
	kind, flags byte
	length      int
	stream      uint32
	code        uint32 // of an RST_STREAM
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

// next gives the next frame and the bytes behind its head; whole is false at the end of p.
func (r *reader) next(p []byte) (rest []byte, f frame, whole bool) {
	skipped := min(r.skip, len(p))
	r.skip -= skipped
	p = p[skipped:]
	size := headSize
	if r.have >= headSize {
		size = rstSize
	}
	for {
		n := copy(r.head[r.have:size], p)
		r.have += n
		p = p[n:]
		if r.have < size {
			return nil, frame{}, false
		}
		length := int(binary.BigEndian.Uint32(r.head[:4]) >> 8)
		if size == headSize && r.head[3] == rstStream && length >= rstSize-headSize {
			size = rstSize
			continue
		}
		f = frame{kind: r.head[3], flags: r.head[4], length: length, stream: binary.BigEndian.Uint32(r.head[5:9]) & (1<<31 - 1)}
		if size == rstSize {
			f.code = binary.BigEndian.Uint32(r.head[headSize:])
		}
		r.have, r.skip = 0, length-(size-headSize)
		return p, f, true
	}
}
