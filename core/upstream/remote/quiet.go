package remote

// mostQuiet bounds the bytes of a stream between two events with content of its
// answer. Comments, pings and events without content keep a call alive, at the upstream's
// pace: a comment of 25 bytes each second takes a week to get there. Events that repeat
// a large request (response.in_progress) fit.
const mostQuiet = 16 << 20

// events gives the events of the answer, a stream, whose memory is the answer's.
func (a *answer) events() *events {
	in := newEvents(a.body, int(a.upstream.config.MaxAnswerBytes))
	in.answer = a
	return in
}

// largerRoom gives room of so many bytes that begins with what is in b. It counts twice:
// an event's data is copied out of it.
func (a *answer) largerRoom(b []byte, size int) ([]byte, error) {
	a.room = 2 * int64(size)
	if err := a.hold(a.room); err != nil {
		return nil, err
	}
	larger := make([]byte, size)
	copy(larger, b)
	a.upstream.config.Memory.discard(int64(len(b)))
	return larger, nil
}

// fill reads more of the stream, unless it has gone on for too long without content.
func (a *answer) fill(in *events) error {
	if in.idle > mostQuiet {
		return errQuiet
	}
	return in.fill()
}

// weigh holds what an event takes decoded until the next is weighed.
func (a *answer) weigh(event []byte) error {
	if len(event) < weighed && !a.heavy {
		return nil
	}
	a.heavy = len(event) >= weighed
	return a.hold(a.room + weight(event, true))
}
