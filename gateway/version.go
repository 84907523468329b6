package gateway

import (
	"net/http"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/genway/genway/codec/fault"
	genwayv1 "github.com/genway/genway/gen/genway/v1"
	"google.golang.org/protobuf/proto"
)

// checkVersion demands the version header of a protocol that has one.
func (e *endpoint) checkVersion(h http.Header) error {
	shown := e.versions.shown
	if len(shown) == 0 {
		return nil
	}
	name, version := firstOf(h, e.versions.read)
	if version == "" {
		f := fault.New(fault.InvalidRequest, fault.ReasonMissingVersion, "%s: header is required", shown[0])
		if len(shown) > 1 {
			f.Message += " (" + strings.Join(shown[1:], ", ") + " is read as well)"
		}
		f.Param = shown[0]
		return f
	}
	oldest := e.protocol.Version.Oldest
	if _, err := time.Parse(time.DateOnly, version); err != nil || version < oldest {
		name = strings.ToLower(name)
		f := fault.New(fault.InvalidRequest, fault.ReasonInvalidVersion, "%s: %q is not a version this server speaks; send %s or a later date", name, clip(version, 32), oldest)
		f.Param = name
		return f
	}
	return nil
}

// checkContents refuses what the version of a request does not take, by the caller's name of
// it. message is what was decoded, and req the conversation in it.
func (e *endpoint) checkContents(x *exchange, message proto.Message, req *genwayv1.GenerateTextRequest, wire *genwayv1.WireMessage) error {
	err := e.protocol.CheckVersion(req, wire.GetHeaders())
	if err == nil {
		return nil
	}
	x.message = message
	f := *fault.From(err)
	x.spells().Fault(&f)
	return &f
}

// clip shortens a text to that many bytes, and cuts no character in two.
func clip(s string, most int) string {
	if len(s) <= most {
		return s
	}
	for most > 0 && !utf8.RuneStart(s[most]) {
		most--
	}
	return s[:most] + "…"
}
