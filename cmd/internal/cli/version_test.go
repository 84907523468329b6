package cli

import (
	"runtime/debug"
	"strings"
	"testing"
)

// The version and the commit are the linker's, else the module's and the checkout's.
func TestBuild(t *testing.T) {
	commit := []debug.BuildSetting{
		{Key: "vcs.revision", Value: "0123456789abcdef0123456789abcdef01234567"}, {Key: "vcs.time", Value: "2026-01-31T12:00:00Z"}, {Key: "vcs.modified", Value: "true"},
	}
	const other = "fedcba9876543210fedcba9876543210fedcba98"
	for name, c := range map[string]struct {
		info   *debug.BuildInfo
		linked build
		line   string
		prints []string
	}{
		"nothing known":        {nil, build{}, "unknown", []string{"version      unknown\n", "commit       unknown\n", "commit time  unknown\n"}},
		"linked alone":         {nil, build{version: "v1.2.3"}, "v1.2.3", []string{"version      v1.2.3\n"}},
		"a checkout":           {&debug.BuildInfo{Main: debug.Module{Version: "(devel)"}, Settings: commit}, build{}, "(devel) (0123456789ab, modified)", []string{"version      (devel)\n", "commit       0123456789abcdef0123456789abcdef01234567 (modified)\n", "commit time  2026-01-31T12:00:00Z\n"}},
		"a clean one":          {&debug.BuildInfo{Settings: commit[:2]}, build{}, "(devel) (0123456789ab)", []string{"commit       0123456789abcdef0123456789abcdef01234567\n"}},
		"a version of commit":  {&debug.BuildInfo{Main: debug.Module{Version: "v0.0.0-20260131120000-0123456789ab+dirty"}, Settings: commit}, build{}, "v0.0.0-20260131120000-0123456789ab+dirty", nil},
		"a release":            {&debug.BuildInfo{Main: debug.Module{Version: "(devel)"}, Settings: commit[:2]}, build{version: "v1.2.3"}, "v1.2.3 (0123456789ab)", []string{"version      v1.2.3\n"}},
		"an image":             {&debug.BuildInfo{Main: debug.Module{Version: "(devel)"}}, build{version: "v1.2.3", revision: other, time: "2026-02-01T00:00:00Z"}, "v1.2.3 (fedcba987654)", []string{"version      v1.2.3\n", "commit       " + other + "\n", "commit time  2026-02-01T00:00:00Z\n"}},
		"a changed image":      {&debug.BuildInfo{}, build{revision: other, modified: true}, "(devel) (fedcba987654, modified)", []string{"commit       " + other + " (modified)\n", "commit time  unknown\n"}},
		"linked in a checkout": {&debug.BuildInfo{Settings: commit}, build{version: "v1.2.3", revision: other}, "v1.2.3 (fedcba987654)", []string{"commit       " + other + "\n", "commit time  unknown\n"}},
		"no commit linked":     {&debug.BuildInfo{Settings: commit[:2]}, build{time: "2026-02-01T00:00:00Z", modified: true}, "(devel) (0123456789ab)", []string{"commit       0123456789abcdef0123456789abcdef01234567\n", "commit time  2026-01-31T12:00:00Z\n"}},
		"a short name":         {nil, build{revision: "f00"}, "unknown (f00)", []string{"commit       f00\n"}},
		"go install":           {&debug.BuildInfo{Main: debug.Module{Version: "v1.2.3"}}, build{}, "v1.2.3", []string{"commit       unknown\n"}},
	} {
		b := buildOf(c.info, c.linked)
		if got := b.String(); got != c.line {
			t.Errorf("%s: %q, want %q", name, got, c.line)
		}
		var out strings.Builder
		if err := b.print(&out); err != nil {
			t.Fatal(err)
		}
		for _, want := range append(c.prints, "go           go1.") {
			if !strings.Contains(out.String(), want) {
				t.Errorf("%s: no %q in\n%s", name, want, out.String())
			}
		}
	}
}

// Only an empty text and false say that no file differs from the commit.
func TestLinkedBuild(t *testing.T) {
	defer func(before string) { modified = before }(modified)
	for text, want := range map[string]bool{"": false, "false": false, "true": true, "1": true, "False, perhaps": true} {
		if modified = text; linkedBuild().modified != want {
			t.Errorf("%q: modified is %t", text, !want)
		}
	}
}
