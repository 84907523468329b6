package gateway

import (
	"fmt"
	"slices"
	"strings"

	genwayv1 "github.com/genway/genway/gen/genway/v1"
)

// lostHeader is the header that names the members that were lost in translation. Streams
// have it as a trailer as well, for members that are lost after the header is sent.
const lostHeader = "X-Genway-Lost"

// trailerHeader announces trailers. lostTrailer is its value in a stream.
const trailerHeader = "Trailer"

var lostTrailer = []string{lostHeader}

func (x *exchange) addLosses(losses []*genwayv1.Loss) {
	for _, l := range losses {
		x.losses.Add(l.GetMember(), l.GetReason())
	}
}

// lost gives the lost members by the caller's names: each once, and none that the header
// has named.
func (x *exchange) lost() []string {
	var names []string
	for _, l := range x.losses.List() {
		name := x.spells().Member(l.GetMember())
		if !slices.Contains(names, name) && !slices.Contains(x.named, name) {
			names = append(names, name)
		}
	}
	return names
}

// writeLosses names the lost members in the header, while headers can still be sent.
func (x *exchange) writeLosses() {
	if x.w.status != 0 || len(x.losses.List()) == 0 {
		return
	}
	x.named = nil
	x.named = x.lost()
	x.w.Header().Set(lostHeader, lossList(x.named))
}

// writeLateLosses names in the trailer of a stream the members that its header could not
// name.
func (x *exchange) writeLateLosses() {
	h := x.w.Header()
	if x.w.status == 0 || len(h[trailerHeader]) == 0 {
		return
	}
	// The header is sent: net/http sends the values of announced names as the trailer.
	delete(h, lostHeader)
	if late := x.lost(); len(late) > 0 {
		h.Set(lostHeader, lossList(late))
	}
}

// comment is the same for callers who read comments of server-sent events.
func (s *streamState) comment() {
	if !s.x.endpoint.protocol.Stream.Comments || s.x.w.status == 0 || len(s.x.losses.List()) == 0 {
		return
	}
	if late := s.x.lost(); len(late) > 0 {
		s.buf.WriteString(": x-genway-lost " + lossList(late) + "\n\n")
	}
}

// maxLost bounds the list of losses in bytes. Proxies take 4 KiB of headers and some clients
// (Node's fetch) 16 KiB. They drop the whole answer if it has more.
const maxLost = 2 << 10

// lossList gives a list of members for a header. A list that is too long has the first
// members, and the number of the others.
func lossList(members []string) string {
	var list strings.Builder
	for i, member := range members {
		name := headerSafe(member)
		if list.Len()+len(name) > maxLost {
			fmt.Fprintf(&list, ", and %d more", len(members)-i)
			break
		}
		if i > 0 {
			list.WriteString(", ")
		}
		list.WriteString(name)
	}
	return list.String()
}

// headerSafe keeps a member's path on one header line.
func headerSafe(member string) string {
	return strings.Map(func(r rune) rune {
		if r < 0x20 || r > 0x7e || r == ',' {
			return '?'
		}
		return r
	}, clip(member, 120))
}
