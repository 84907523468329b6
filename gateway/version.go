package gateway

import (
	"net/http"
	"time"
	"unicode/utf8"

	"github.com/genway/genway/codec/fault"
)

// oldestVersion is the first version of the messages protocol the edge speaks;
// later ones are accepted, since the vendor's newest SDKs send later dates with
// the same shapes.
const oldestVersion = "2023-06-01"

// checkVersion demands the version header of the messages protocol.
func checkVersion(h http.Header, names []string) error {
	version := firstHeader(h, names)
	if version == "" {
		e := fault.New(fault.InvalidRequest, fault.ReasonMissingVersion, "%s: header is required", names[0])
		e.Param = names[0]
		return e
	}
	if _, err := time.Parse(time.DateOnly, version); err != nil || version < oldestVersion {
		e := fault.New(fault.InvalidRequest, fault.ReasonInvalidVersion, "%s: %q is not a version this server speaks; send %s or a later date", names[0], clip(version, 32), oldestVersion)
		e.Param = names[0]
		return e
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
