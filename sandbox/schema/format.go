package schema

import (
	"encoding/base64"
	"fmt"
	"net/mail"
	"net/netip"
	"net/url"
	"strconv"
	"strings"
	"time"
)

// formatted makes the n-th string of a format, of at least the length given where the
// format has strings of any length. Unknown formats have none.
func formatted(format string, n, length int) (string, bool) {
	day := time.Date(2026, time.January, 15, 9, 30, 0, 0, time.UTC).AddDate(0, 0, n%10_000)
	// pad fills a part of the string that may be of any length.
	pad := func(head, tail string) string {
		if n > 0 {
			head += strconv.Itoa(n)
		}
		return head + strings.Repeat("x", max(0, min(length, longestText)-len(head)-len(tail))) + tail
	}
	switch format {
	case "date":
		return day.Format(time.DateOnly), true
	case "date-time":
		return day.Format(time.RFC3339), true
	case "time":
		return day.Add(time.Duration(n)*time.Minute).Format("15:04:05") + "Z", true
	case "duration":
		return fmt.Sprintf("PT%dH", n+1), true
	case "email", "idn-email":
		return pad("ada", "@example.com"), true
	case "hostname", "idn-hostname":
		if n == 0 {
			return "example.com", true
		}
		return fmt.Sprintf("host%d.example.com", n), true
	case "ipv4":
		return fmt.Sprintf("192.0.2.%d", 1+n%254), true
	case "ipv6":
		return fmt.Sprintf("2001:db8::%x", 1+n), true
	case "uri", "url", "iri":
		return pad("https://example.com/", ""), true
	case "uri-reference", "iri-reference", "uri-template":
		return pad("/path", ""), true
	case "uuid":
		return fmt.Sprintf("00000000-0000-4000-8000-%012x", n+1), true
	case "json-pointer":
		return pad("/a", ""), true
	case "relative-json-pointer":
		return pad("0/a", ""), true
	case "regex":
		return pad("a", ""), true
	case "byte", "base64":
		return base64.StdEncoding.EncodeToString([]byte(pad("Genway", ""))), true
	}
	return "", false
}

var (
	uuidForm     = lazily(`^[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}$`)
	hostnameForm = lazily(`^([a-zA-Z0-9]([a-zA-Z0-9-]{0,61}[a-zA-Z0-9])?)(\.[a-zA-Z0-9]([a-zA-Z0-9-]{0,61}[a-zA-Z0-9])?)*$`)
	durationForm = lazily(`^P(\d+W|(\d+Y)?(\d+M)?(\d+D)?(T(\d+H)?(\d+M)?(\d+S)?)?)$`)
)

// conforms reports whether a hint or a default can stand in a field of that format;
// anything can where the format is not one of those checked.
func conforms(format, s string) bool {
	var err error
	switch format {
	case "date":
		_, err = time.Parse(time.DateOnly, s)
	case "date-time":
		_, err = time.Parse(time.RFC3339, s)
	case "time":
		_, err = time.Parse("15:04:05Z07:00", s)
	case "duration":
		return durationForm().MatchString(s) && len(s) > 2 && !strings.HasSuffix(s, "T")
	case "email":
		var a *mail.Address
		a, err = mail.ParseAddress(s)
		return err == nil && a.Address == s
	case "hostname":
		return len(s) < 254 && hostnameForm().MatchString(s)
	case "ipv4", "ipv6":
		var a netip.Addr
		a, err = netip.ParseAddr(s)
		return err == nil && a.Zone() == "" && a.Is4() == (format == "ipv4")
	case "uri", "url":
		var u *url.URL
		u, err = url.Parse(s)
		return err == nil && u.IsAbs() && (u.Host != "" || u.Opaque != "")
	case "uuid":
		return uuidForm().MatchString(s)
	}
	return err == nil
}

// checkable reports whether conforms distinguishes strings of the format from others.
func checkable(format string) bool { return !conforms(format, "\x00") }

// makable reports whether there are made-up strings of the format.
func makable(format string) bool {
	_, ok := formatted(format, 0, 0)
	return ok
}
