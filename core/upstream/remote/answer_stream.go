package remote

// maxWithoutContent bounds the bytes of a stream between two events with content of the answer.
// Comments, pings and events without content keep a call alive, at the upstream's pace: a
// comment of 25 bytes each second takes a week to reach the bound. Events that repeat a large
// request (response.in_progress) are within it.
const maxWithoutContent = 16 << 20

// events gives the events of an answer that is a stream. Their buffer counts as memory of the
// answer.
func (a *answer) events() *events {
	in := newEvents(a.body, int(a.upstream.config.MaxAnswerBytes))
	in.answer = a
	return in
}

// largerBuffer gives a buffer of size bytes that begins with a copy of b. It counts twice: the
// data of an event is copied out of it.
func (a *answer) largerBuffer(b []byte, size int) ([]byte, error) {
	a.buffer = 2 * int64(size)
	if err := a.hold(a.buffer); err != nil {
		return nil, err
	}
	larger := make([]byte, size)
	copy(larger, b)
	a.upstream.config.Memory.discard(int64(len(b)))
	return larger, nil
}

// fill reads more of the stream. It fails if too much was read since the last content.
func (a *answer) fill(in *events) error {
	if in.withoutContent > maxWithoutContent {
		return errNoContent
	}
	return in.fill()
}

// weigh counts the memory that an event takes once it is decoded, until the next event is
// weighed.
func (a *answer) weigh(event []byte) error {
	if len(event) < weighed && !a.heavy {
		return nil
	}
	a.heavy = len(event) >= weighed
	return a.hold(a.buffer + weight(event, true))
}
