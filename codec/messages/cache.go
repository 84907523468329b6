package messages

import (
	"github.com/genway/genway/codec"
	"github.com/genway/genway/codec/member"
	genwayv1 "github.com/genway/genway/gen/genway/v1"
)

// The two lifetimes of a prompt-cache entry (CacheControlEphemeralTTL).
const (
	ttl5m, seconds5m = "5m", 300
	ttl1h, seconds1h = "1h", 3600
)

func (c *cacheControl) canonical() *genwayv1.CacheControl {
	if c == nil {
		return nil
	}
	out := &genwayv1.CacheControl{}
	if c.Type != "ephemeral" && c.Type != "" {
		out.NativeFields = append(out.NativeFields, word("type", c.Type))
	}
	switch c.TTL {
	case "":
	case ttl5m:
		out.TtlSeconds = seconds5m
	case ttl1h:
		out.TtlSeconds = seconds1h
	default:
		out.NativeFields = append(out.NativeFields, word("ttl", c.TTL))
	}
	out.NativeFields = append(out.NativeFields, natives(c.Extra)...)
	return out
}

// word keeps a string this version does not know.
func word(name, value string) *genwayv1.NativeField {
	return &genwayv1.NativeField{Protocol: protocol, Name: name, Json: member.AppendQuote(nil, value)}
}

// cacheControl writes a breakpoint; nothing for nil. Another lifetime than the
// vendor's two becomes the shortest that is not shorter.
func (w *writer) cacheControl(c *genwayv1.CacheControl, path string, losses *codec.Losses) {
	if c == nil {
		return
	}
	path = member.Join(path, "cache_control")
	w.Object("cache_control")
	if native(c.NativeFields, "type") == nil {
		w.Str("type", "ephemeral")
	}
	if c.TtlSeconds > 0 && native(c.NativeFields, "ttl") == nil {
		ttl, seconds := ttl5m, int32(seconds5m)
		if c.TtlSeconds > seconds5m {
			ttl, seconds = ttl1h, seconds1h
		}
		if c.TtlSeconds != seconds {
			losses.Add(path+".ttl_seconds", "the messages protocol keeps cache entries for 5 minutes or an hour")
		}
		w.Str("ttl", ttl)
	}
	w.natives(c.NativeFields, path, losses)
	w.End()
}
