package chat

import (
	"strconv"
	"time"

	"github.com/genway/genway/codec/member"
	genwayv1 "github.com/genway/genway/gen/genway/v1"
)

const (
	cacheControlName    = "cache_control"
	cacheBreakpointName = "prompt_cache_breakpoint"

	cacheType = "ephemeral" // of cache_control
	cacheMode = "explicit"  // of prompt_cache_breakpoint
)

// decodeCacheControl reads either member; the mark says which it was. A word other than the
// one that its vendor has stays a native field.
func decodeCacheControl(control, breakpoint *cacheControl) *genwayv1.CacheControl {
	c, name := control, cacheControlName
	if c == nil {
		c, name = breakpoint, cacheBreakpointName
	}
	if c == nil {
		return nil
	}
	out := &genwayv1.CacheControl{NativeFields: []*genwayv1.NativeField{mark(name)}}
	if d, err := time.ParseDuration(c.TTL); err == nil && d >= time.Second && d < 1<<31*time.Second {
		out.TtlSeconds = int32(d / time.Second)
	} else if c.TTL != "" {
		out.NativeFields = append(out.NativeFields, native("ttl", []byte(strconv.Quote(c.TTL))))
	}
	for _, m := range [...]struct{ of, name, said, known string }{
		{cacheControlName, "type", c.Type, cacheType},
		{cacheBreakpointName, "mode", c.Mode, cacheMode},
	} {
		if m.of == name && m.said != "" && m.said != m.known {
			out.NativeFields = append(out.NativeFields, native(m.name, member.AppendQuote(nil, m.said)))
		}
	}
	out.NativeFields = append(out.NativeFields, natives(c.Extra)...)
	return out
}

// cacheControl writes a breakpoint where it came from a caller of this protocol.
// Upstreams of the protocol differ in what they take, so that a breakpoint from
// elsewhere is left out and noted.
func (e *encoder) cacheControl(c *genwayv1.CacheControl, path string) (control, breakpoint *cacheControl, err error) {
	if c == nil {
		return nil, nil, nil
	}
	isControl, isBreakpoint := marked(c.NativeFields, cacheControlName), marked(c.NativeFields, cacheBreakpointName)
	if !isControl && !isBreakpoint {
		e.losses.Add(path+".cache_control", "chat completions has no common form for cache breakpoints")
		return nil, nil, nil
	}
	out := &cacheControl{TTL: ttl(c.TtlSeconds)}
	if out.Extra, err = extra(c.NativeFields, path+".cache_control", e.losses); err != nil {
		return nil, nil, err
	}
	if isControl {
		if member.Native(protocol, c.NativeFields, "type") == nil {
			out.Type = cacheType
		}
		return out, nil, nil
	}
	if member.Native(protocol, c.NativeFields, "mode") == nil {
		out.Mode = cacheMode
	}
	return nil, out, nil
}

// ttl spells a lifetime as the vendors do: 5m, 1h.
func ttl(s int32) string {
	n := int(s)
	switch {
	case n == 0:
		return ""
	case n%3600 == 0:
		return strconv.Itoa(n/3600) + "h"
	case n%60 == 0:
		return strconv.Itoa(n/60) + "m"
	}
	return strconv.Itoa(n) + "s"
}
