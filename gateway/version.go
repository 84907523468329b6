package gateway

import (
	"net/http"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/genway/genway/codec/fault"
)

// oldestVersion is the first version of the messages protocol the edge speaks;
// later ones are accepted, since the vendor's newest SDKs send later dates with
// the same shapes.
const oldestVersion = "2023-06-01"

// checkVersion demands the version header of the messages protocol.
func (e *Edge) checkVersion(h http.Header) error {
	name, version := firstOf(h, e.headers.Version)
	if version == "" {
		names := e.config.Headers.Version
		name := names[0]
		f := fault.New(fault.InvalidRequest, fault.ReasonMissingVersion, "%s: header is required", name)
		if len(names) > 1 {
			f.Message += " (" + strings.Join(names[1:], ", ") + " is read as well)"
		}
		f.Param = name
		return f
	}
	if _, err := time.Parse(time.DateOnly, version); err != nil || version < oldestVersion {
		name = strings.ToLower(name)
		f := fault.New(fault.InvalidRequest, fault.ReasonInvalidVersion, "%s: %q is not a version this server speaks; send %s or a later date", name, clip(version, 32), oldestVersion)
		f.Param = name
		return f
	}
	return nil
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
