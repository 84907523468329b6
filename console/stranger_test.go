package console_test

import (
	"net/http"
	"net/url"
	"strings"
	"testing"
)

// strange are values that no form of the console sends.
var strange = map[string]string{
	"zero": "0", "negative": "-1", "2^53+1": "9007199254740993", "2^63-1": "9223372036854775807", "2^64": "18446744073709551616", "NaN": "NaN", "infinite": "1e400",
	"a blank": " ", "empty": "", "no UTF-8": "\xff\xfe\xed\xa0\x80", "a zero byte": "a\x00b", "lines": "a\r\nSet-Cookie: b=c", "a path": "../../etc/passwd",
	"SQL": "' OR 1=1; DROP TABLE keys; --", "huge": strings.Repeat("x", 100_000), "deep": strings.Repeat("[", 10_000), "a bidi override": "\u202egwk_", "a keyset": "-1.-1.-1",
	"a keyset of bounds": "9223372036854775807.9223372036854775807.9223372036854775807", "a keyset of the least": "-9223372036854775808.-9223372036854775808.-9223372036854775808",
	"a keyset beyond": "9223372036854775808.0.0", "a keyset of zeros": "00.00.00",
}

// parameters are what URLs of the pages have.
var parameters = map[string][]string{
	"/requests":     {"model", "served", "key", "owner", "upstream", "route", "protocol", "to", "kind", "reason", "request", "trace", "outcome", "lost", "retried", "without_kind", "period", "after"},
	"/requests.csv": {"model", "owner", "outcome", "period", "after"},
	"/usage":        {"by", "period", "from", "to", "than", "compare", "key", "model"},
	"/usage.csv":    {"by", "period", "from", "to"},
	"/keys":         {"after", "owner", "group", "all"},
	"/keys/new":     {"group", "name"},
	"/audit":        {"after", "subject", "order"},
	"/connect":      {"key", "group"},
	"/sign-in":      {"to"},
}

// Whatever a URL's parameters are, the answer is a page: what is wrong with them, or what there is. It never
// is a failure of the console's own, sets no header and has nothing active in it.
func TestStrangeParameters(t *testing.T) {
	f := open(t)
	for who, session := range map[string]string{"an admin": f.signIn(t, f.root), "a viewer": f.signIn(t, f.viewer)} {
		for path, names := range parameters {
			for what, value := range strange {
				for _, name := range names {
					if who == "a viewer" && name != names[0] {
						continue
					}
					got := f.get(t, session, path+"?"+url.Values{name: {value, value}}.Encode())
					if got.code != http.StatusOK && got.code != http.StatusBadRequest && got.code != http.StatusNotFound && got.code != http.StatusForbidden && got.code != http.StatusUnprocessableEntity {
						t.Errorf("%s: %s of %s is %s: %d", who, name, path, what, got.code)
					}
					if wrong := active(got.body); len(wrong) > 0 || strings.Contains(got.body, "proto:") || strings.Contains(got.body, "grpc") && path != "/connect" && path != "/playground" && path != "/xray" && path != "/requests" || len(got.header["Set-Cookie"]) > 1 {
						t.Errorf("%s: %s of %s is %s: %v %v", who, name, path, what, wrong, got.header["Set-Cookie"])
					}
				}
			}
		}
	}
}

// A cookie that is none of a session, or of one that has ended, is none: the sign-in is shown, and nothing changes.
func TestStrangeCookies(t *testing.T) {
	f := open(t)
	session := f.signIn(t, f.root)
	ended := f.signIn(t, f.root)
	if got := f.post(t, ended, "/sign-out", nil); got.code != http.StatusSeeOther {
		t.Fatal(got.code)
	}
	for what, cookie := range map[string]string{
		"ended": ended, "cut": session[:len(session)-1], "longer": session + "x", "upper case": strings.ToUpper(session), "huge": strings.Repeat("x", 100_000),
		"no key": "x", "an admin key, which has no end": f.root,
	} {
		for _, path := range []string{"/requests", "/keys", "/usage.csv"} {
			if got := f.get(t, cookie, path); got.code != http.StatusSeeOther || !strings.HasPrefix(got.header.Get("Location"), "/sign-in") {
				t.Errorf("%s: %s is %d", what, path, got.code)
			}
		}
		if got := f.post(t, cookie, "/keys", url.Values{"group": {"chat"}}); got.code != http.StatusUnauthorized {
			t.Errorf("%s: a key is made: %d", what, got.code)
		}
	}
}
