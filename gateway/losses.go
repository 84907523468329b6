package gateway

import (
	"fmt"
	"slices"
	"strings"

	genwayv1 "github.com/genway/genway/gen/genway/v1"
)

// lostHeader is the header that names what could not be carried. Streams have it as a
// trailer as well, for what is lost after their header is sent.
const lostHeader = "X-Genway-Lost"

// trailerHeader announces trailers, and lostTrailer is what it says in a stream.
const trailerHeader = "Trailer"

var lostTrailer = []string{lostHeader}

func (x *exchange) addLosses(losses []*genwayv1.Loss) {
	for _, l := range losses {
		x.losses.Add(l.GetMember(), l.GetReason())
	}
}

// lost names what could not be carried, as the caller knows it: each member once, and
// none that the header has.
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

// tellLosses names what could not be carried, while headers can still be sent.
func (x *exchange) tellLosses() {
	if x.w.status != 0 || len(x.losses.List()) == 0 {
		return
	}
	x.named = nil
	x.named = x.lost()
	x.w.Header().Set(lostHeader, lossList(x.named))
}

// tellLateLosses names in the trailer of a stream what its header could not.
func (x *exchange) tellLateLosses() {
	h := x.w.Header()
	if x.w.status == 0 || len(h[trailerHeader]) == 0 {
		return
	}
	// The header is sent: what is in the map under an announced name is the trailer.
	delete(h, lostHeader)
	if late := x.lost(); len(late) > 0 {
		h.Set(lostHeader, lossList(late))
	}
}

// comment is the same for callers who read comments of server-sent events. Those of
// generateContent do not: its official SDKs fail on them.
func (s *streamState) comment() {
	if s.x.endpoint.protocol == genwayv1.Protocol_PROTOCOL_GENERATE_CONTENT || s.x.w.status == 0 || len(s.x.losses.List()) == 0 {
		return
	}
	if late := s.x.lost(); len(late) > 0 {
		s.buf.WriteString(": x-genway-lost " + lossList(late) + "\n\n")
	}
}

// maxLost bounds the list of losses in bytes: proxies take 4 KiB of headers and some
// clients (Node's fetch) 16 KiB, and lose the whole answer over one byte more.
const maxLost = 2 << 10

// lossList is a list of members for a header. Of one that is too long it has the first,
// and how many more there are.
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
