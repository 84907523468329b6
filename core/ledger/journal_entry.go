package ledger

import (
	"encoding/binary"
	"time"
)

// texts are an entry's texts, in the order of a record. Outcomes and sources are texts, too.
func texts(e *Entry) [19]string {
	return [...]string{
		e.ID, e.KeyID, e.Owner, e.Protocol, e.Method, e.Request.Model,
		string(e.Outcome), e.Kind, e.Reason, e.Route, e.Upstream, e.Result.Model, string(e.UsageSource), e.Price,
		e.TraceID, e.UpstreamProtocol, e.Losses, e.Timeline, e.Charges,
	}
}

func setTexts(e *Entry, t [19]string) {
	e.ID, e.KeyID, e.Owner, e.Protocol, e.Method, e.Request.Model = t[0], t[1], t[2], t[3], t[4], t[5]
	e.Outcome, e.Kind, e.Reason, e.Route, e.Upstream, e.Result.Model = Outcome(t[6]), t[7], t[8], t[9], t[10], t[11]
	e.UsageSource, e.Price = UsageSource(t[12]), t[13]
	e.TraceID, e.UpstreamProtocol, e.Losses, e.Timeline, e.Charges = t[14], t[15], t[16], t[17], t[18]
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
	u.Input, u.Output, u.CacheRead, u.CacheWrite, u.CacheWrite1h, u.InputImage, u.InputAudio = n[3], n[4], n[5], n[6], n[7], n[8], n[9]
	u.Thinking, u.OutputImage, u.OutputAudio, u.Images = n[10], n[11], n[12], n[13]
	e.Cost = n[14]
	e.Duration, e.FirstEvent = time.Duration(n[15])*time.Microsecond, time.Duration(n[16])*time.Microsecond
}

// laterNumbers are the numbers that follow the texts of a record, which older programs did not write.
func laterNumbers(e *Entry) [4]int64 {
	n := [4]int64{0, e.Usage.CacheWrite30m, e.Usage.CacheWrite12h, e.Usage.ToolCalls}
	if e.Unpriced {
		n[0] = 1
	}
	return n
}

func setLaterNumbers(e *Entry, n [4]int64) {
	e.Unpriced, e.Usage.CacheWrite30m, e.Usage.CacheWrite12h, e.Usage.ToolCalls = n[0] != 0, n[1], n[2], n[3]
}

// appendEntry writes an entry: its numbers as varints, its texts, each with its length, and the later numbers.
func appendEntry(b []byte, e *Entry) []byte {
	for _, n := range numbers(e) {
		b = binary.AppendVarint(b, n)
	}
	for _, t := range texts(e) {
		b = append(binary.AppendUvarint(b, uint64(len(t))), t...)
	}
	for _, n := range laterNumbers(e) {
		b = binary.AppendVarint(b, n)
	}
	return b
}

// Records of releases that did not know timelines end after so many texts, and later ones after
// textsOfTimelines.
const fewestTexts, textsOfTimelines = 14, 18

// parseEntry reads what appendEntry has written; false for anything else.
func parseEntry(b []byte) (*Entry, bool) {
	e := &Entry{}
	ns, later := numbers(e), laterNumbers(e)
	b, ok := parseNumbers(b, ns[:])
	if !ok {
		return nil, false
	}
	ts := texts(e)
	whole := true
	for i := range ts {
		if (i == fewestTexts || i == textsOfTimelines) && len(b) == 0 {
			whole = false
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
	if whole {
		if b, ok = parseNumbers(b, later[:]); !ok {
			return nil, false
		}
		setLaterNumbers(e, later)
	}
	return e, len(b) == 0 && e.Outcome.Known()
}

// parseNumbers reads varints into ns and returns the rest.
func parseNumbers(b []byte, ns []int64) ([]byte, bool) {
	for i := range ns {
		n, size := binary.Varint(b)
		if size <= 0 {
			return nil, false
		}
		ns[i], b = n, b[size:]
	}
	return b, true
}
