package config_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/genway/genway/core/config"
)

// lines are all that an error reports, a line each.
func lines(err error) string {
	var all config.Errors
	if !errors.As(err, &all) {
		if err == nil {
			return ""
		}
		return err.Error()
	}
	texts := make([]string, len(all))
	for i, e := range all {
		texts[i] = e.Error()
	}
	return strings.Join(texts, "\n")
}

// All mistakes are reported at once, in the order of their lines; what follows from a mistake
// is not reported as another. One error is still one line.
func TestAllMistakesAtOnce(t *testing.T) {
	const text = `store: mysql://x
upstreams:
  a: {kind: chat, base_ulr: http://x, retries: many, proxy: ftp://x}
  b: {kind: chatt, base_url: http://x}
  c: {kind: chat, base_url: ftp://x, api_key: "${NOPE}", headers: {"a b": c}, idle: -1s, retries: -2}
  d: {kind: messages, base_url: "${NEITHER}"}
  e: 7
routes:
  - {model: "", targets: [{upstream: nobody, weight: -1}, {upstream: c, drop: [nothing, seeds]}]}
  - {model: m, protocols: [gemini, chat, grcp], deadline: soon}
limits:
  keys: {requests_per_minute: -1, budgets: [5/week, 1/day, 2/day]}
  owners: [{concurrent: -1}]
ledger: {retain_days: 1}
unknown: 1
`
	const want = `f:1:8: store: expected postgres://USER:PASSWORD@HOST:PORT/DATABASE, or the path of a file
f:3:19: unknown key "base_ulr" in upstreams.a; did you mean "base_url"?
f:3:48: upstreams.a.retries: expected a whole number, as in 10 (how often a call that failed before its answer began is made again), got text
f:3:61: upstreams.a.proxy: expected none, or http://, https://, socks5://, socks5h://host:port
f:4:13: upstreams.b.kind: "chatt" is no kind; one of chat, responses, messages, interactions, generatecontent, images, generation, sandbox; did you mean "chat"?
f:5:29: upstreams.c.base_url: "ftp://x" is no http(s) URL
f:5:47: the environment variable NOPE is not set
f:5:67: upstreams.c.headers: "a b" cannot be sent as a header
f:5:85: upstreams.c.idle: expected a time above 0
f:5:99: upstreams.c.retries: expected at least -1, got -2
f:6:33: the environment variable NEITHER is not set
f:7:6: upstreams.e: expected a mapping, as in {kind: …}, got a whole number
f:9:5: routes[0]: model is missing: a name or a glob, "*" for all
f:9:38: routes[0].targets[0].upstream: there is no upstream "nobody"
f:9:54: routes[0].targets[0].weight: expected at least 0, got -1
f:9:80: routes[0].targets[1].drop[0]: there is no parameter "nothing"
f:9:89: routes[0].targets[1].drop[1]: there is no parameter "seeds"; did you mean "seed"?
f:10:5: routes[1]: targets are missing
f:10:28: routes[1].protocols[0]: "gemini" is no protocol; one of chat, responses, messages, interactions, generatecontent, images, grpc
f:10:42: routes[1].protocols[2]: "grcp" is no protocol; one of chat, responses, messages, interactions, generatecontent, images, grpc; did you mean "grpc"?
f:10:59: routes[1].deadline: "soon" is no duration; write 90s, 5m, 1h30m or 30d
f:12:31: limits.keys.requests_per_minute: expected 0 to 1000000000, got -1
f:12:45: limits.keys.budgets[0]: 
f:12:60: limits.keys.budgets[2]: there is a budget for the day already
f:13:12: limits.owners[0]: owner is missing: a name or a glob, "*" for each
f:13:25: limits.owners[0].concurrent: expected 0 to 1000000000, got -1
f:14:23: ledger.retain_days: expected at least 2, or 0 to keep everything, got 1
f:15:1: unknown key "unknown"`
	_, err := config.Parse("f", []byte(text), getenv)
	got, expected := strings.Split(lines(err), "\n"), strings.Split(want, "\n")
	for i := range max(len(got), len(expected)) {
		var g, w string
		if i < len(got) {
			g = got[i]
		}
		if i < len(expected) {
			w = expected[i]
		}
		if w == "" || !strings.HasPrefix(g, w) {
			t.Errorf("line %d: got  %s\n         want %s", i+1, g, w)
		}
	}
	if err == nil || strings.Contains(err.Error(), "\n") || !strings.Contains(err.Error(), "more; genway config check lists all") {
		t.Errorf("as one error: %v", err)
	}
}

// Files of all sorts that are no configuration, or an odd one.
func TestOddFiles(t *testing.T) {
	const routes = "routes: [{model: m, targets: [{upstream: sandbox}]}]\n"
	for name, c := range map[string]struct{ text, says string }{
		"byte order mark":      {"\ufeff" + routes, ""},
		"CRLF":                 {"routes:\r\n  - model: m\r\n    targets: [{upstream: sandbox}]\r\n", ""},
		"anchors":              {"upstreams:\n  a: &x {kind: chat, base_url: http://x}\n  b: *x\nroutes: [{model: m, targets: [{upstream: b}]}]\n", ""},
		"an anchor of itself":  {"upstreams: &a\n  b: *a\n" + routes, "f:2:3: unknown key"},
		"no such anchor":       {"upstreams: *a\n" + routes, "f:1:"},
		"a key twice":          {"upstreams:\n  a: {kind: chat, kind: chat, base_url: http://x}\n", `f:2:19: kind is a second time here; the first is on line 2`},
		"an upstream twice":    {"upstreams:\n  a: {kind: sandbox}\n  a: {kind: sandbox}\n", `f:3:3: a is a second time here; the first is on line 2`},
		"a huge number":        {"routes: [{model: m, targets: [{upstream: sandbox, weight: 99999999999999999999}]}]\n", "f:1:59: routes[0].targets[0].weight: 99999999999999999999 is too large a number"},
		"huge weights":         {"routes: [{model: m, targets: [{upstream: sandbox, weight: 9223372036854775807}]}]\n", "weight: expected at most 1000000, got 9223372036854775807"},
		"a share that is none": {"limits: {local_share: .nan, store: 'redis://h'}\n" + routes, "limits.local_share: \".nan\" is no share"},
		"a value that is none": {"routes: [{model: m, targets: [{upstream: sandbox, set: {temperature: .nan}}]}]\n", "expected at least 0, got NaN"},
		"for ever":             {"ledger: {retain_days: 9223372036854775807}\n" + routes, "retain_days: expected at most 36500"},
		"a long time":          {"upstreams: {a: {kind: chat, base_url: http://x, idle: 9999999h}}\n" + routes, `"9999999h" is no duration`},
		"a NUL":                {"\x00", "f:1:1:"},
		"a word":               {"a\n", "f:1:1:"},
		"a list":               {"- a\n", "f:1:1:"},
		"JSON":                 {`{"routes": [{"model": "m", "targets": [{"upstream": "sandbox"}]}]}`, ""},
		"two documents":        {routes + "---\nx: 1\n", "several documents"},
		"a null route":         {"routes: [null]\n", "routes[0]: model is missing"},
		"not UTF-8":            {"routes: [{model: \"ü\xff\", targets: [{upstream: sandbox}]}]\n", "f:1:20: the file is not UTF-8"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := config.Parse("f", []byte(c.text), getenv)
			if got := lines(err); (c.says == "") != (err == nil) || !strings.Contains(got, c.says) {
				t.Errorf("%s, want %s", got, c.says)
			}
		})
	}
	dir := t.TempDir()
	for file, says := range map[string]string{dir: "is a directory", filepath.Join(dir, "none"): "no such file"} {
		if _, err := config.Load(file, getenv); err == nil || !strings.Contains(err.Error(), says) || !strings.Contains(err.Error(), file) {
			t.Errorf("%s: %v", file, err)
		}
	}
}

// Without an environment, placeholders stand: what depends on them is not checked, and all
// else is.
func TestNoEnvironment(t *testing.T) {
	const good = `store: "${STORE}"
upstreams:
  a: {kind: chat, base_url: "${BASE}", api_key: "${KEY}", idle: "${IDLE}", retries: "${RETRIES}", proxy: "http://${PROXY}", headers: {x: "${X}"}}
  b: {kind: "${KIND}", base_url: "https://x", api_key_file: "/nowhere/${NAME}", ca_file: /nowhere}
  c: {kind: generation, target: "${TARGET}", api_key_file: /nowhere/key}
routes:
  - {model: "${MODEL}", protocols: ["${PROTOCOL}"], targets: [{upstream: "${UPSTREAM}"}, {upstream: a}]}
limits: {store: "${REDIS}", keys: {budgets: ["${BUDGET}"]}}
`
	if _, err := config.Parse("f", []byte(good), nil); err != nil {
		t.Error(lines(err))
	}
	bad := strings.Replace(good, `api_key: "${KEY}"`, `api_keys: "${KEY}"`, 1)
	bad = strings.Replace(bad, "{upstream: a}", "{upstream: d}", 1)
	_, err := config.Parse("f", []byte(bad), nil)
	if got, want := lines(err), "f:3:40: unknown key \"api_keys\" in upstreams.a; did you mean \"api_key\"?\nf:7:101: routes[0].targets[1].upstream: there is no upstream \"d\""; !strings.HasPrefix(got, want[:40]) || strings.Count(got, "\n") != 1 {
		t.Errorf("%s\nwant %s", got, want)
	}
	_, err = config.Parse("f", []byte(good), getenv)
	if got := lines(err); strings.Count(got, "is not set") != 14 {
		t.Errorf("with an environment that lacks them:\n%s", got)
	}
}

// What is allowed and most likely not meant is warned of.
func TestWarnings(t *testing.T) {
	for name, c := range map[string]struct{ text, says string }{
		"nothing":                 {"routes: [{model: a, targets: [{upstream: sandbox, weight: 1}]}, {model: '*', targets: [{upstream: sandbox}]}]\n", ""},
		"shadowed":                {"routes: [{model: '*', targets: [{upstream: sandbox}]}, {model: a, targets: [{upstream: sandbox}]}]\n", "f:1:64: routes[1].model: this route is never used: routes[0] (*) matches first"},
		"a glob of a glob":        {"routes: [{model: 'g*-x', targets: [{upstream: sandbox}]}, {model: 'gpt-*-x', targets: [{upstream: sandbox}]}]\n", "routes[1].model: this route is never used"},
		"the name again":          {"routes: [{model: a, targets: [{upstream: sandbox}]}, {model: a, targets: [{upstream: sandbox}]}]\n", "routes[1].model: this route is never used"},
		"not quite":               {"routes: [{model: 'gpt-*-x', targets: [{upstream: sandbox}]}, {model: 'gpt-*', targets: [{upstream: sandbox}]}, {model: 'a*a', targets: [{upstream: sandbox}]}, {model: a, targets: [{upstream: sandbox}]}]\n", ""},
		"for some callers":        {"routes: [{model: '*', protocols: [chat], targets: [{upstream: sandbox}]}, {model: a, targets: [{upstream: sandbox}]}]\n", ""},
		"for the same callers":    {"routes: [{model: '*', protocols: [chat, grpc], targets: [{upstream: sandbox}]}, {model: a, protocols: [grpc], targets: [{upstream: sandbox}]}]\n", "routes[1].model: this route is never used"},
		"together":                {"routes: [{model: '*', protocols: [chat], targets: [{upstream: sandbox}]}, {model: 'a*', protocols: [grpc], targets: [{upstream: sandbox}]}, {model: ab, protocols: [grpc, chat], targets: [{upstream: sandbox}]}]\n", "routes[0] (*), routes[1] (a*) match first"},
		"weight 0":                {"routes: [{model: a, targets: [{upstream: sandbox, weight: 0}]}]\n", "f:1:59: routes[0].targets[0].weight: 0 is taken for 1"},
		"weight of a fallback":    {"routes: [{model: a, targets: [{upstream: sandbox}], fallback: [{upstream: sandbox, weight: 2}]}]\n", "routes[0].fallback[0].weight: a fallback has no weight"},
		"budgets and no prices":   {"routes: [{model: a, targets: [{upstream: sandbox}]}]\nlimits: {keys: {budgets: [1/day]}}\n", "f:2:26: limits.keys.budgets: there are budgets and no prices"},
		"budgets of owners":       {"routes: [{model: a, targets: [{upstream: sandbox}]}]\nlimits: {owners: [{owner: '*', budgets: [1/day]}]}\n", "limits.owners[0].budgets: there are budgets and no prices"},
		"budgets, uncounted":      {"routes: [{model: a, targets: [{upstream: sandbox}]}]\nlimits: {unpriced: allow, keys: {budgets: [1/day]}}\n", ""},
		"a key in clear text":     {"upstreams: {a: {kind: chat, base_url: 'http://h.example/v1', api_key: secret}}\nroutes: [{model: a, targets: [{upstream: a}]}]\n", "f:1:39: upstreams.a.base_url: the credential goes to h.example in clear text; use https://"},
		"a key in a file":         {"upstreams: {a: {kind: chat, base_url: 'http://10.0.0.1', auth: {command: {run: [a]}}}}\nroutes: [{model: a, targets: [{upstream: a}]}]\n", "upstreams.a.base_url: the credential goes to 10.0.0.1 in clear text"},
		"a key in a header":       {"upstreams: {a: {kind: messages, base_url: 'http://h', headers: {X-Api-Key: secret}}}\nroutes: [{model: a, targets: [{upstream: a}]}]\n", "upstreams.a.base_url: the credential goes to h in clear text"},
		"another header":          {"upstreams: {a: {kind: messages, base_url: 'http://h', headers: {X-Tenant: a}}}\nroutes: [{model: a, targets: [{upstream: a}]}]\n", ""},
		"no key":                  {"upstreams: {a: {kind: chat, base_url: 'http://h'}}\nroutes: [{model: a, targets: [{upstream: a}]}]\n", ""},
		"a key, encrypted":        {"upstreams: {a: {kind: chat, base_url: 'https://h', api_key: secret}}\nroutes: [{model: a, targets: [{upstream: a}]}]\n", ""},
		"a key, on this machine":  {"upstreams: {a: {kind: chat, base_url: 'http://127.0.0.1:1', api_key: secret}, b: {kind: chat, base_url: 'http://[::1]', api_key: secret}, c: {kind: chat, base_url: 'http://localhost', api_key: secret}}\nroutes: [{model: a, targets: [{upstream: a}, {upstream: b}, {upstream: c}]}]\n", ""},
		"a target in clear text":  {"upstreams: {a: {kind: generation, target: 'dns:///core:9090'}}\nroutes: [{model: a, targets: [{upstream: a}]}]\n", "f:1:43: upstreams.a.target: calls go to core in clear text; set tls: true"},
		"a target, encrypted":     {"upstreams: {a: {kind: generation, target: 'core:9090', tls: true}}\nroutes: [{model: a, targets: [{upstream: a}]}]\n", ""},
		"targets of this machine": {"upstreams: {a: {kind: generation, target: 'localhost:1'}, b: {kind: generation, target: '[::1]:1'}, c: {kind: generation, target: 'unix:/s'}}\nroutes: [{model: a, targets: [{upstream: a}, {upstream: b}, {upstream: c}]}]\n", ""},
		"budgets and prices":      {"prices: p.yaml\nroutes: [{model: a, targets: [{upstream: sandbox}]}]\nlimits: {keys: {budgets: [1/day]}}\n", ""},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := config.Parse("f", []byte(c.text), getenv)
			if err != nil {
				t.Fatal(err)
			}
			reported := ""
			if w := got.Warnings(); len(w) > 0 {
				reported = lines(w)
			}
			if (c.says == "") != (reported == "") || !strings.Contains(reported, c.says) {
				t.Errorf("%q, want %q", reported, c.says)
			}
		})
	}
}

// Relative paths begin beside the file, wherever the program was started.
func TestRelativePaths(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "genway.yaml")
	text := "prices: prices.yaml\nupstreams:\n  a: {kind: chat, base_url: http://x, api_key_file: secrets/key}\n  b: {kind: chat, base_url: http://x, api_key_file: " + filepath.Join(dir, "secrets", "key") + "}\nroutes: [{model: m, targets: [{upstream: a}]}]\n"
	if err := errors.Join(os.Mkdir(filepath.Join(dir, "secrets"), 0o700), os.WriteFile(file, []byte(text), 0o600), os.WriteFile(filepath.Join(dir, "secrets", "key"), []byte("k\n"), 0o600)); err != nil {
		t.Fatal(err)
	}
	c, err := config.Load(file, getenv)
	if err != nil {
		t.Fatal(err)
	}
	if c.Prices != filepath.Join(dir, "prices.yaml") || c.Upstreams["a"].APIKey != "k" || c.Upstreams["b"].APIKey != "k" {
		t.Errorf("%+v", c)
	}
}

// A key that no header can hold is a mistake, and is not repeated.
func TestKeysOfOneLine(t *testing.T) {
	file := filepath.Join(t.TempDir(), "key")
	for content, says := range map[string]string{
		"\n k1 \r\n":                    "",
		"\ufeffk1\n":                    "",
		"canary-1\ncanary-2\n":          "holds more than one line",
		"canary\x00":                    "holds more than one line",
		" \n\t":                         "is empty",
		strings.Repeat("canary", 20000): "has more than 65536 bytes",
	} {
		if err := os.WriteFile(file, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		got, err := config.ReadSecret(file)
		if (says == "") != (err == nil) || err == nil && got != "k1" || err != nil && (!strings.Contains(err.Error(), says) || strings.Contains(err.Error(), "canary")) {
			t.Errorf("%.20q: %q, %v", content, got, err)
		}
	}
	if _, err := config.ReadSecret(filepath.Dir(file)); err == nil {
		t.Error("a directory is a key")
	}
	_, err := config.Parse("f", []byte("upstreams:\n  a: {kind: chat, base_url: http://x, api_key: \"${TWO}\"}\nroutes: [{model: m, targets: [{upstream: a}]}]\n"), func(string) (string, bool) { return "canary\nx", true })
	if got := lines(err); !strings.Contains(got, "f:2:48: upstreams.a.api_key: it holds more than one line") || strings.Contains(got, "canary") {
		t.Error(got)
	}
}

// A text whose values are nested too deep is refused before it is parsed: the parser would take minutes and
// gigabytes for 100 KB of brackets.
func TestDeepNesting(t *testing.T) {
	const good = "routes: [{model: m, targets: [{upstream: sandbox}]}]\n"
	for name, c := range map[string]struct{ opening, closing string }{
		"sequences":                  {"[", "]"},
		"mappings":                   {"{a: ", "}"},
		"entries on one line":        {"- ", ""},
		"keys on one line":           {"? ", ""},
		"sequences that never close": {"[", ""},
	} {
		for _, deep := range []int{101, 50_000} {
			text := good + "x:\n  " + strings.Repeat(c.opening, deep) + "y" + strings.Repeat(c.closing, deep) + "\n"
			_, err := config.Parse("f", []byte(text), getenv)
			if got := lines(err); !strings.HasPrefix(got, "f:3:") || !strings.HasSuffix(got, ": more than 100 values are nested in one another") {
				t.Errorf("%s, %d deep: %s", name, deep, got)
			}
		}
	}
	flat := good + "# " + strings.Repeat("[", 1000) + "\nx:" + strings.Repeat("\n  - [{a: ']'}]", 1000) + "\n"
	if _, err := config.Parse("f", []byte(flat), getenv); lines(err) != `f:3:1: unknown key "x"` {
		t.Error(lines(err))
	}
}

// Aliases of aliases, of which 300 bytes stand for gigabytes, are refused wherever a configuration is read; those
// that configurations have are not.
func TestAliases(t *testing.T) {
	const good = "routes: [{model: m, targets: [{upstream: sandbox}]}]\n"
	const says = ": aliases repeat more than 4 MiB by now"
	text := strings.Builder{}
	text.WriteString(good + "a: &a [" + strings.Repeat("x, ", 9) + "]\n")
	for i := 'b'; i < 'm'; i++ {
		fmt.Fprintf(&text, "%c: &%c [%s]\n", i, i, strings.Repeat("*"+string(i-1)+", ", 9))
	}
	bomb := text.String()
	long := good + "a: &a " + strings.Repeat("x", 100_000) + "\nb: [" + strings.Repeat("*a, ", 100) + "]\n"
	for name, text := range map[string]string{"many": bomb, "long": long, "merged": strings.Replace(bomb, "*k", "<<: *k", 1)} {
		_, err := config.Parse("f", []byte(text), getenv)
		if got := lines(err); !strings.HasPrefix(got, "f:") || !strings.HasSuffix(got, says) {
			t.Errorf("%s: %s", name, got)
		}
		if _, err := config.MaskedText([]byte(text)); err == nil {
			t.Errorf("%s is shown", name)
		}
		if _, _, err := config.Unmask([]byte(text), nil); err == nil {
			t.Errorf("%s is read", name)
		}
		if _, err := config.Members([]byte(text)); err == nil {
			t.Errorf("%s has members", name)
		}
	}
	usual := "routes:\n- {model: m, targets: &t [{upstream: sandbox, weight: 1}, {upstream: sandbox, weight: 2}]}\n" + strings.Repeat("- {model: m, targets: *t}\n", 10_000)
	if _, err := config.Parse("f", []byte(usual), getenv); err != nil {
		t.Error(err)
	}
}

// The search for mistakes ends: after a hundred, and in a large file, all of which is decoded again for each, after
// a few. The list says so.
func TestTooManyMistakes(t *testing.T) {
	for routes, found := range map[int]int{99: 99, 101: 100, 5_000: 7} {
		text := "routes:\n" + strings.Repeat("- {model: m, targets: [{upstream: sandbox}], label: x}\n", routes)
		_, err := config.Parse("f", []byte(text), getenv)
		all := strings.Split(lines(err), "\n")
		said := strings.HasSuffix(all[len(all)-1], ": there may be more mistakes: the search ended after "+strconv.Itoa(found))
		if said != (routes > found) || said && len(all) != found+1 || !said && len(all) != found || !strings.HasPrefix(all[0], `f:2:46: unknown key "label"`) {
			t.Errorf("%d routes: %d lines, the last: %s", routes, len(all), all[len(all)-1])
		}
	}
}

// What cannot be called, and a name that cannot be meant, is found by the check and not by the first request.
func TestWhatCannotBeMeant(t *testing.T) {
	const routes = "routes: [{model: m, targets: [{upstream: sandbox}]}]\n"
	upstream := func(members string) string { return "upstreams: {a: {" + members + "}}\n" + routes }
	generation := func(target string) string {
		return upstream("kind: generation, tls: true, target: " + strconv.Quote(target))
	}
	for text, says := range map[string]string{
		generation("http://h"):       "f:1:54: upstreams.a.target: the scheme http is not supported; expected HOST:PORT, dns:///HOST:PORT or unix:PATH",
		generation("xds://"):         "upstreams.a.target: the scheme xds is not supported",
		generation("h:99999"):        `upstreams.a.target: the port is "99999"; expected a number from 1 to 65535`,
		generation("h:0"):            `upstreams.a.target: the port is "0"`,
		generation("unix:"):          "upstreams.a.target: the path of the socket is missing",
		generation("a b:1"):          "upstreams.a.target: blanks and control characters are no part of a target",
		generation("h"):              "",
		generation(":1"):             "upstreams.a.target: the host is missing",
		generation("h:1\x00"):        "upstreams.a.target: blanks and control characters",
		generation("dns:///h:9090"):  "",
		generation("dns:h:9090"):     "",
		generation("10.0.0.1:9090"):  "",
		generation("unix:/run/sock"): "",
		generation("[::1]:9090"):     "",

		upstream("kind: chat, base_url: 'http://:80'"):                                                                                      "f:1:39: upstreams.a.base_url: the host is missing",
		upstream("kind: chat, base_url: 'http://h:'"):                                                                                       "upstreams.a.base_url: the port is missing",
		upstream("kind: chat, base_url: 'http://h:0'"):                                                                                      "upstreams.a.base_url: expected a port from 1 to 65535, got 0",
		upstream("kind: chat, base_url: 'http://[::1]:80'"):                                                                                 "",
		upstream("kind: chat, base_url: 'http://h', proxy: 'http://:80'"):                                                                   "upstreams.a.proxy: the host is missing",
		upstream("kind: chat, base_url: 'http://h', proxy: 'http://h:0'"):                                                                   "upstreams.a.proxy: expected a port from 1 to 65535, got 0",
		upstream("kind: chat, base_url: 'http://h', proxy: 'socks5://h:99999'"):                                                             "upstreams.a.proxy: expected a port from 1 to 65535",
		upstream(`kind: chat, base_url: 'http://h', headers: {x: "a\x01"}`):                                                                 `upstreams.a.headers: "x" cannot be sent`,
		upstream("kind: chat, base_url: 'https://h', auth: {entra: {tenant: a, client_id: b, client_secret: c, authority: 'https://:80'}}"): "upstreams.a.auth.entra.authority: expected https://host",
		"console: {oidc: {issuer: 'https://:80', client_id: a, redirect_url: 'https://h/sign-in/oidc', admin_groups: [a]}}\n" + routes:      "console.oidc.issuer: expected https://host",
		"console: {oidc: {issuer: 'https://h', client_id: a, redirect_url: 'https://h:0/sign-in/oidc', admin_groups: [a]}}\n" + routes:      "console.oidc.redirect_url: expected the console's address",
		"upstreams: {'': {kind: sandbox}}\n" + routes:                                                                                       `upstreams: expected a name of printable characters, got ""`,
		"upstreams: {' ': {kind: sandbox}}\n" + routes:                                                                                      `upstreams: expected a name of printable characters, got " "`,
		"upstreams: {a : {kind: sandbox}, 'b ': {kind: sandbox}}\n" + routes:                                                                `got "b "`,
		"store: \"a\\0b\"\n" + routes:                                                                                                       "f:1:8: store: control characters are no part of",
		"store: \"postgres://h/a\\0b\"\n" + routes:                                                                                          "f:1:8: store: control characters",
		"store: ' '\n" + routes:                                                     "f:1:8: store: expected",
		"prices: \"a\\0\"\n" + routes:                                               "f:1:9: prices: control characters",
		"catalog: \"a\\n\"\n" + routes:                                              "f:1:10: catalog: control characters",
		`routes: [{model: "m\0", targets: [{upstream: sandbox}]}]` + "\n":           "routes[0].model: ",
		`routes: [{model: m, targets: [{upstream: sandbox, model: "m\0"}]}]` + "\n": "routes[0].targets[0].model: ",
	} {
		_, err := config.Parse("f", []byte(text), getenv)
		if got := lines(err); (says == "") != (err == nil) || !strings.Contains(got, says) {
			t.Errorf("%s: %s, want %s", text, got, says)
		}
	}
}

// A value that is null or an empty list bounds nothing, and is no value: absent, null, empty and zero are four things.
func TestEmptyIsNotUnbounded(t *testing.T) {
	const routes = "routes: [{model: m, targets: [{upstream: sandbox}]}]\n"
	for _, null := range []string{"", " null", " ~", " !!null ''", " &x"} {
		for text, says := range map[string]string{
			"limits:\n  keys:\n    requests_per_minute:" + null + "\n" + routes:                       "f:3:5: requests_per_minute has no value",
			"limits:\n  keys:\n    budgets:" + null + "\n" + routes:                                   "f:3:5: budgets has no value",
			"limits:\n  keys:" + null + "\n" + routes:                                                 "f:2:3: keys has no value",
			"limits:" + null + "\n" + routes:                                                          "f:1:1: limits has no value",
			"limits:\n  models:\n    - model: a\n      concurrent:" + null + "\n" + routes:            "f:4:7: concurrent has no value",
			"upstreams:\n  a:\n    kind: sandbox\n    max_concurrent:" + null + "\n" + routes:         "f:4:5: max_concurrent has no value",
			"routes:\n  - model: m\n    protocols:" + null + "\n    targets: [{upstream: sandbox}]\n": "f:3:5: protocols has no value",
		} {
			_, err := config.Parse("f", []byte(text), getenv)
			if got := lines(err); !strings.Contains(got, says+"; write one, or leave the key out") {
				t.Errorf("%s: %s", text, got)
			}
			if _, err := config.Parse("f", []byte(text), nil); err == nil {
				t.Errorf("%s: no mistake without an environment", text)
			}
		}
	}
	for text, says := range map[string]string{
		"limits: {keys: {budgets: []}}\n" + routes:                              "f:1:26: limits.keys.budgets: it is empty; leave it out for no budget",
		"limits: {owners: [{owner: a, budgets: []}]}\n" + routes:                "limits.owners[0].budgets: it is empty",
		"routes: [{model: m, protocols: [], targets: [{upstream: sandbox}]}]\n": "f:1:32: routes[0].protocols: it is empty; leave it out for all",
		"limits: {keys: {requests_per_minute: ''}}\n" + routes:                  "f:1:38: limits.keys.requests_per_minute: expected a whole number",
		"limits: {keys: {requests_per_minute: 0}}\n" + routes:                   "",
	} {
		_, err := config.Parse("f", []byte(text), getenv)
		if got := lines(err); (says == "") != (err == nil) || !strings.Contains(got, says) {
			t.Errorf("%s: %s, want %s", text, got, says)
		}
	}
}
