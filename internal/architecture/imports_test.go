package architecture_test

import (
	"slices"
	"strings"
	"testing"
)

// rule forbids a group of packages to depend on others. Patterns are import
// paths, relative to the module when they start with "./"; "/..." at the end
// covers the packages below as well.
type rule struct {
	name string
	// from are the packages the rule binds.
	from []string
	// never are the packages that may not be reached from them.
	never []string
	// ours, unless nil, are the only packages of this module that may be reached.
	ours []string
	// opaque are packages whose own dependencies do not count.
	opaque []string
}

var rules = []rule{
	{
		name: "generated code depends on nothing of ours",
		from: []string{"./gen/..."},
		ours: []string{"./gen/..."},
	},
	{
		// Generated code names grpc and, for the gateway, net/http.
		name:   "codecs are pure: the contract in, bytes out",
		from:   []string{"./codec/..."},
		ours:   []string{"./codec/...", "./gen/..."},
		never:  []string{"net/http/...", "google.golang.org/grpc/...", "github.com/grpc-ecosystem/..."},
		opaque: []string{"./gen/..."},
	},
	{
		name:   "the table of protocols is below edge and core",
		from:   []string{"./protocol/..."},
		ours:   []string{"./protocol/...", "./codec/...", "./gen/..."},
		never:  []string{"net/http/...", "google.golang.org/grpc/...", "github.com/grpc-ecosystem/..."},
		opaque: []string{"./gen/..."},
	},
	{
		name:  "the edge does not know the core",
		from:  []string{"./gateway/..."},
		never: []string{"./core/...", "./sandbox/...", "./cmd/..."},
	},
	{
		name:  "the core does not know the edge",
		from:  []string{"./core/..."},
		never: []string{"./gateway/...", "./cmd/..."},
	},
	{
		name: "the console is a client of the Admin service",
		from: []string{"./console/..."},
		ours: []string{"./console/...", "./gen/..."},
	},
	{
		name: "the demo writes by the borders of the keys and the ledger",
		from: []string{"./core/demo"},
		ours: []string{"./core/demo", "./core/keys", "./core/capture", "./core/ledger", "./core/price", "./core/amount", "./core/audit", "./core/limit", "./core/config/strict", "./core/glob"},
	},
	{
		name: "charts are text alone",
		from: []string{"./console/chart"},
		ours: []string{"./console/chart"},
	},
	{
		name: "prices know the words of the ledger alone",
		from: []string{"./core/price/..."},
		ours: []string{"./core/price/...", "./core/ledger", "./core/amount", "./core/config/strict", "./core/glob"},
	},
	{
		name: "the ledger knows no store and nobody whose requests it has",
		from: []string{"./core/ledger/..."},
		ours: []string{"./core/ledger/...", "./core/price", "./core/amount", "./core/config/strict", "./core/glob"},
	},
	{
		name: "reading YAML strictly knows nothing of what is read",
		from: []string{"./core/config/strict"},
		ours: []string{"./core/config/strict"},
	},
	{
		name:  "amounts are arithmetic alone",
		from:  []string{"./core/amount"},
		ours:  []string{"./core/amount"},
		never: []string{"net/http/...", "google.golang.org/...", "database/sql"},
	},
	{
		// Keys are made of them.
		name:  "limits are figures: what is shared between cores is below them",
		from:  []string{"./core/limit"},
		ours:  []string{"./core/limit", "./core/amount", "./core/glob"},
		never: []string{"github.com/redis/...", "google.golang.org/...", "net/http/..."},
	},
	{
		// All of the core imports it.
		name:  "the record of a call knows the caller alone",
		from:  []string{"./core/call"},
		ours:  []string{"./core/call", "./core/keys", "./core/capture", "./core/audit", "./core/limit", "./core/amount", "./core/glob", "./codec/fault", "./internal/arena", "./internal/overload", "./telemetry/...", "./gen/..."},
		never: []string{"database/sql"},
	},
	{
		name:  "the edge's binary links no core and no store",
		from:  []string{"./cmd/genway-edge/..."},
		never: []string{"./core/...", "modernc.org/sqlite/...", "github.com/redis/...", "database/sql"},
	},
	{
		name:  "the core's binary links no edge",
		from:  []string{"./cmd/genway-core/..."},
		never: []string{"./gateway/..."},
	},
	{
		name:  "no binary links what only tests run",
		from:  []string{"./cmd/..."},
		never: []string{"./test/..."},
	},
	{
		name:  "keys are the domain alone",
		from:  []string{"./core/keys/..."},
		ours:  []string{"./core/keys/...", "./core/capture", "./core/audit", "./core/limit", "./core/amount", "./core/glob"},
		never: []string{"database/sql", "net/http/...", "google.golang.org/grpc/..."},
	},
	{
		// Keys are made of its rules, and the record of a call has a capture.
		name:  "captures are rules and bytes alone",
		from:  []string{"./core/capture"},
		ours:  []string{"./core/capture"},
		never: []string{"database/sql", "net/http/...", "google.golang.org/grpc/..."},
	},
	{
		name:  "the vault reaches stores through its interface",
		from:  []string{"./core/capture/vault"},
		ours:  []string{"./core/capture/...", "./core/audit", "./internal/smallfile"},
		never: []string{"database/sql", "net/http/...", "google.golang.org/grpc/..."},
	},
	{
		name:  "the audit is the domain alone",
		from:  []string{"./core/audit/..."},
		ours:  []string{"./core/audit/..."},
		never: []string{"database/sql", "net/http/...", "google.golang.org/grpc/..."},
	},
	{
		name:  "the Admin service reaches stores through their interfaces",
		from:  []string{"./core/admin/..."},
		never: []string{"./core/store/...", "database/sql"},
	},
}

func TestImports(t *testing.T) {
	module := load(t)
	for _, rule := range rules {
		t.Run(rule.name, func(t *testing.T) {
			for _, pkg := range module.own {
				if !module.matches(rule.from, pkg.ImportPath) {
					continue
				}
				for _, chain := range module.broken(rule, pkg) {
					t.Errorf("%s", strings.Join(chain, "\n\timports "))
				}
			}
		})
	}
}

// Each package says what it is for where it is opened first.
func TestDocComments(t *testing.T) {
	module := load(t)
	for _, pkg := range module.own {
		if pkg.Doc == "" && !module.matches([]string{"./gen/..."}, pkg.ImportPath) {
			t.Errorf("%s has no doc comment", pkg.ImportPath)
		}
	}
}

// The rules find what they are for: each is run against a module that breaks it.
func TestRulesCatch(t *testing.T) {
	tests := map[string][]string{
		"generated code depends on nothing of ours":                      {"./gen/genway/v1", "./codec"},
		"codecs are pure: the contract in, bytes out":                    {"./codec/chat", "example.org/wrapper", "net/http"},
		"the table of protocols is below edge and core":                  {"./protocol", "./core/keys"},
		"the edge does not know the core":                                {"./gateway", "./internal/bridge", "./core"},
		"the core does not know the edge":                                {"./core/route", "./gateway"},
		"the console is a client of the Admin service":                   {"./console", "./core/keys"},
		"the demo writes by the borders of the keys and the ledger":      {"./core/demo", "./core/keys", "./core/store"},
		"charts are text alone":                                          {"./console/chart", "./console"},
		"prices know the words of the ledger alone":                      {"./core/price", "./core/ledger", "./core/store"},
		"the ledger knows no store and nobody whose requests it has":     {"./core/ledger/reconcile", "./core/price", "./core/keys"},
		"reading YAML strictly knows nothing of what is read":            {"./core/config/strict", "./core/config"},
		"amounts are arithmetic alone":                                   {"./core/amount", "./core/limit"},
		"limits are figures: what is shared between cores is below them": {"./core/limit", "./core/limit/shared"},
		"the record of a call knows the caller alone":                    {"./core/call", "./core/limit", "./core/route"},
		"the edge's binary links no core and no store":                   {"./cmd/genway-edge", "example.org/store", "database/sql"},
		"the core's binary links no edge":                                {"./cmd/genway-core", "./gateway"},
		"keys are the domain alone":                                      {"./core/keys", "./core/limit", "database/sql"},
		"captures are rules and bytes alone":                             {"./core/capture", "./core/keys"},
		"the vault reaches stores through its interface":                 {"./core/capture/vault", "./core/audit", "database/sql"},
		"the audit is the domain alone":                                  {"./core/audit", "./core/keys"},
		"the Admin service reaches stores through their interfaces":      {"./core/admin", "./core/keys", "./core/store"},
		"no binary links what only tests run":                            {"./cmd/genway", "./core/store", "./test/servers"},
	}
	for _, rule := range rules {
		t.Run(rule.name, func(t *testing.T) {
			want := slices.Clone(tests[rule.name])
			m := module{path: "example.org/m", packages: map[string]pkg{}}
			for i, path := range want {
				want[i] = m.absolute(path)
			}
			for i, path := range want {
				m.packages[path] = pkg{ImportPath: path, Imports: want[i+1 : min(i+2, len(want))]}
			}
			got := m.broken(rule, m.packages[want[0]])
			if len(got) != 1 || !slices.Equal(got[0], want) {
				t.Errorf("got %q, want %q", got, want)
			}
		})
	}
}

// What a pattern covers stops at a path element: gen is not generate.
func TestMatches(t *testing.T) {
	m := module{path: "example.org/m"}
	tests := []struct {
		pattern, path string
		want          bool
	}{
		{"./gen/...", "example.org/m/gen", true},
		{"./gen/...", "example.org/m/gen/genway/v1", true},
		{"./gen/...", "example.org/m/generate", false},
		{"net/http/...", "net/http/httptest", true},
		{"net/http/...", "net/httputil", false},
		{"database/sql", "database/sql/driver", false},
	}
	for _, test := range tests {
		if got := m.matches([]string{test.pattern}, test.path); got != test.want {
			t.Errorf("%s covers %s: %t, want %t", test.pattern, test.path, got, test.want)
		}
	}
}

// vacuous returns the imports that rules forbid although nothing in the module could import them:
// packages of ours that do not exist, and libraries that no package uses. Such a rule guards
// nothing, as one does that names a library which was replaced by another.
func (m module) vacuous(rules []rule) []string {
	var wrong []string
	for _, r := range rules {
		for _, pattern := range slices.Concat(r.from, r.never, r.ours, r.opaque) {
			known := false
			for path := range m.packages {
				if known = m.matches([]string{pattern}, path); known {
					break
				}
			}
			if !known {
				wrong = append(wrong, r.name+": "+pattern)
			}
		}
	}
	return wrong
}

// Each import that a rule names is one that something here could import.
func TestRulesNameWhatIsUsed(t *testing.T) {
	for _, wrong := range load(t).vacuous(rules) {
		t.Errorf("%s: no package of the module or of what it imports is that", wrong)
	}
	m := module{path: "example.org/m", packages: map[string]pkg{"example.org/m/core": {}, "github.com/redis/go-redis/v9": {}}}
	got := m.vacuous([]rule{{name: "r", from: []string{"./core"}, never: []string{"github.com/redis/...", "github.com/rueidis/..."}, ours: []string{"./core", "./edge"}}})
	if want := []string{"r: github.com/rueidis/...", "r: ./edge"}; !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}
