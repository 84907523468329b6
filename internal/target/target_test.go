package target_test

import (
	"strings"
	"testing"

	"github.com/genway/genway/internal/target"
)

func TestTargets(t *testing.T) {
	for text, want := range map[string]string{
		"127.0.0.1:9090":                       "127.0.0.1:9090",
		"[::1]:9090":                           "[::1]:9090",
		"[fe80::1%eth0]:1":                     "[fe80::1%eth0]:1",
		"core.internal:65535":                  "core.internal:65535",
		"core_1:9090":                          "core_1:9090",
		"core.:9090":                           "core.:9090",
		"1core:9090":                           "1core:9090",
		"dns:9090":                             "dns:9090", // a host of that name
		"unix:9090":                            "unix:9090",
		"dns:///cores.internal:9090":           "dns:///cores.internal:9090",
		"dns:cores.internal:9090":              "dns:///cores.internal:9090",
		"dns:///127.0.0.1:9090":                "dns:///127.0.0.1:9090",
		"dns://10.0.0.2/cores:9090":            "dns://10.0.0.2:53/cores:9090",
		"dns://10.0.0.2:5353/cores:9090":       "dns://10.0.0.2:5353/cores:9090",
		"dns://[::1]/cores:9090":               "dns://[::1]:53/cores:9090",
		"unix:/run/genway.sock":                "unix:/run/genway.sock",
		"unix:///run/genway.sock":              "unix:/run/genway.sock",
		"unix:genway.sock":                     "unix:genway.sock",
		strings.Repeat("a.", 126) + "a:9090":   strings.Repeat("a.", 126) + "a:9090",
		"xn--bcher-kva.example:9090":           "xn--bcher-kva.example:9090",
		"dns:///a-b.svc.cluster.local.:9090":   "dns:///a-b.svc.cluster.local.:9090",
		"dns://ns.example:53/cores.local:9090": "dns://ns.example:53/cores.local:9090",
	} {
		targets, err := target.ParseAll([]string{text})
		if err != nil || len(targets) != 1 || targets[0].String() != want {
			t.Errorf("%s: %v, %v, want %s", text, targets, err, want)
		}
	}
}

func TestTargetsThatAreRefused(t *testing.T) {
	const forms = "expected HOST:PORT, dns:///HOST:PORT or unix:PATH"
	for text, want := range map[string]string{
		"":                         "the target is empty; " + forms,
		" ":                        "blanks and control characters are no part of a target",
		"core:9090 ":               "blanks and control characters are no part of a target",
		"co re:9090":               "blanks and control characters are no part of a target",
		"core:9090\n":              "blanks and control characters are no part of a target",
		"core":                     "the port is missing; " + forms,
		"127.0.0.1":                "the port is missing; " + forms,
		"[::1]":                    "the port is missing; " + forms,
		"::1":                      "this is no address; " + forms + ", and [HOST]:PORT for an IPv6 address",
		"::1:9090":                 "this is no address; " + forms + ", and [HOST]:PORT for an IPv6 address",
		":9090":                    "the host is missing; " + forms,
		"core:":                    `the port is ""; expected a number from 1 to 65535`,
		"core:0":                   `the port is "0"; expected a number from 1 to 65535`,
		"core:-1":                  `the port is "-1"; expected a number from 1 to 65535`,
		"core:+1":                  `the port is "+1"; expected a number from 1 to 65535`,
		"core:070":                 `the port is "070"; expected a number from 1 to 65535`,
		"core:65536":               `the port is "65536"; expected a number from 1 to 65535`,
		"core:70000":               `the port is "70000"; expected a number from 1 to 65535`,
		"core:http":                `the port is "http"; expected a number from 1 to 65535`,
		"core:9223372036854775808": `the port is "9223372036854775808"; expected a number from 1 to 65535`,
		"10.0.0.256:9090":          `the host "10.0.0.256" is neither a name nor an IP address`,
		"-core:9090":               `the host "-core" is neither a name nor an IP address`,
		"core..internal:9090":      `the host "core..internal" is neither a name nor an IP address`,
		"user@core:9090":           `the host "user@core" is neither a name nor an IP address`,
		"core/x:9090":              `the host "core/x" is neither a name nor an IP address`,
		"bücher:9090":              `the host "bücher" is neither a name nor an IP address`,
		"http://core:9090":         "the scheme http is not supported; " + forms,
		"xds:///cores":             "the scheme xds is not supported; " + forms,
		"passthrough:///core:9090": "the scheme passthrough is not supported; " + forms,
		"ipv4:10.0.0.1:9090":       "this is no address; " + forms + ", and [HOST]:PORT for an IPv6 address",
		"dns:///":                  "the port is missing; " + forms,
		"dns:///core":              "the port is missing; " + forms,
		"dns:///core:0":            `the port is "0"; expected a number from 1 to 65535`,
		"dns://core:9090":          "the host is missing behind the DNS server core:9090; expected dns:///core:9090",
		"dns://10.0.0.2:x/core:1":  `the DNS server 10.0.0.2:x: the port is "x"; expected a number from 1 to 65535`,
		"unix:":                    "the path of the socket is missing; expected unix:PATH",
		"unix://":                  "the path of the socket is missing; expected unix:PATH",

		"unix:/" + strings.Repeat("s", 107): "the path of the socket has 108 bytes; expected at most 107",
	} {
		_, err := target.ParseAll([]string{text})
		if err == nil || !strings.HasSuffix(err.Error(), ": "+want) {
			t.Errorf("%q: %v, want %s", text, err, want)
		}
	}
	for want, texts := range map[string][]string{
		"no core is named; " + forms:                        nil,
		`"a:1": the core is named twice`:                    {"a:1", "b:1", "a:1"},
		`"unix:///s": the core is named twice`:              {"unix:/s", "unix:///s"},
		`"dns:a:1": the core is named twice`:                {"a:1", "dns:///a:1", "dns:a:1"},
		`"[0:0::1]:1": the core is named twice`:             {"[::1]:1", "[0:0::1]:1"},
		`"10.0.0.1:1": the core is named twice`:             {"[::ffff:10.0.0.1]:1", "10.0.0.1:1"},
		`"Core:1": the core is named twice`:                 {"core:1", "Core:1"},
		`"dns:///CORE:1": the core is named twice`:          {"dns:core:1", "dns:///CORE:1"},
		`"": the target is empty; ` + forms:                 {"a:1", ""},
		`"a:99999": the port is "99999"; expected a number`: {"a:1", "a:99999"},
	} {
		if _, err := target.ParseAll(texts); err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%q: %v, want %s", texts, err, want)
		}
	}
}
