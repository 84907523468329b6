package member

import (
	"slices"

	genwayv1 "github.com/genway/genway/gen/genway/v1"
)

// LiftedMark marks an opaque part of which all that it says is in canonical fields as
// well. Only an encoder of its own protocol writes it; the others skip it and lose
// nothing.
const LiftedMark = "lifted"

// Lifted reports whether a part is such a part.
func Lifted(p *genwayv1.Part) bool {
	o := p.GetOpaque()
	return o != nil && Marked(o.Protocol, p.NativeFields, LiftedMark)
}

// AllLifted reports whether a message is nothing but such parts.
func AllLifted(m *genwayv1.Message) bool {
	return len(m.GetParts()) > 0 && !slices.ContainsFunc(m.Parts, func(p *genwayv1.Part) bool { return !Lifted(p) })
}
