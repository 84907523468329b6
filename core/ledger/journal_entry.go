package ledger

import (
	"encoding/binary"
	"time"
)

// texts are an entry's texts, in the order of a record. Outcomes and sources are texts, too.
func texts(e *Entry) [18]string {
	return [...]string{
		e.ID, e.KeyID, e.Owner, e.Protocol, e.Method, e.Request.Model,
		string(e.Outcome), e.Kind, e.Reason, e.Route, e.Upstream, e.Result.Model, string(e.UsageSource), e.Price,
		e.TraceID, e.UpstreamProtocol, e.Losses, e.Timeline,
	}
}

func setTexts(e *Entry, t [18]string) {
	e.ID, e.KeyID, e.Owner, e.Protocol, e.Method, e.Request.Model = t[0], t[1], t[2], t[3], t[4], t[5]
	e.Outcome, e.Kind, e.Reason, e.Route, e.Upstream, e.Result.Model = Outcome(t[6]), t[7], t[8], t[9], t[10], t[11]
	e.UsageSource, e.Price = UsageSource(t[12]), t[13]
	e.TraceID, e.UpstreamProtocol, e.Losses, e.Timeline = t[14], t[15], t[16], t[17]
}

// numbers are an entry's numbers, in the order of a record.
func numbers(e *Entry) [17]int64 {
	u := &e.Usage
	return [...]int64{
		e.Number, e.Start.UnixMicro(), e.Attempts,
		u.Input, u.Output, u.CacheRead, u.CacheWrite, u.CacheWrite1h, u.InputImage, u.InputAudio, u.Thinking, u.OutputImage, u.OutputAudio, u.Images,
		e.Cost, e.Duration.Microseconds(), e.FirstEvent.Microseconds(),
	}
}

func setNumbers(e *Entry, n [17]int64) {
	u := &e.Usage
	e.Number, e.Start, e.Attempts = n[0], time.UnixMicro(n[1]).UTC(), n[2]
	*u = Usage{
		Input: n[3], Output: n[4], CacheRead: n[5], CacheWrite: n[6], CacheWrite1h: n[7], InputImage: n[8], InputAudio: n[9],
		Thinking: n[10], OutputImage: n[11], OutputAudio: n[12], Images: n[13],
	}
	e.Cost = n[14]
	e.Duration, e.FirstEvent = time.Duration(n[15])*time.Microsecond, time.Duration(n[16])*time.Microsecond
}

// appendEntry writes an entry: its numbers as varints, then its texts, each with its length.
func appendEntry(b []byte, e *Entry) []byte {
	for _, n := range numbers(e) {
		b = binary.AppendVarint(b, n)
	}
	for _, t := range texts(e) {
		b = append(binary.AppendUvarint(b, uint64(len(t))), t...)
	}
	return b
}

// fewestTexts is how many texts the records of releases have that did not know timelines.
const fewestTexts = 14

// parseEntry reads what appendEntry has written; false for anything else.
func parseEntry(b []byte) (*Entry, bool) {
	e := &Entry{}
	ns := numbers(e)
	for i := range ns {
		n, size := binary.Varint(b)
		if size <= 0 {
			return nil, false
		}
		ns[i], b = n, b[size:]
	}
	ts := texts(e)
	for i := range ts {
		if i == fewestTexts && len(b) == 0 {
			break
		}
		length, size := binary.Uvarint(b)
		if size <= 0 || length > uint64(len(b)-size) {
			return nil, false
		}
		ts[i], b = string(b[size:size+int(length)]), b[size+int(length):]
	}
	setNumbers(e, ns)
	setTexts(e, ts)
	return e, len(b) == 0 && e.Outcome.Known()
}
