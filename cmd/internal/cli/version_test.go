package cli

import (
	"runtime/debug"
	"strings"
	"testing"
)

// The version is that of the linker, of the module or of the commit, whichever is known.
func TestBuild(t *testing.T) {
	commit := []debug.BuildSetting{
		{Key: "vcs.revision", Value: "0123456789abcdef0123456789abcdef01234567"}, {Key: "vcs.time", Value: "2026-01-31T12:00:00Z"}, {Key: "vcs.modified", Value: "true"},
	}
	for name, c := range map[string]struct {
		info   *debug.BuildInfo
		linked string
		line   string
		prints []string
	}{
		"nothing known":       {nil, "", "unknown", []string{"version      unknown\n", "commit       unknown\n", "commit time  unknown\n"}},
		"linked alone":        {nil, "v1.2.3", "v1.2.3", []string{"version      v1.2.3\n"}},
		"a checkout":          {&debug.BuildInfo{Main: debug.Module{Version: "(devel)"}, Settings: commit}, "", "(devel) (0123456789ab, modified)", []string{"version      (devel)\n", "commit       0123456789abcdef0123456789abcdef01234567 (modified)\n", "commit time  2026-01-31T12:00:00Z\n"}},
		"a clean one":         {&debug.BuildInfo{Settings: commit[:2]}, "", "(devel) (0123456789ab)", []string{"commit       0123456789abcdef0123456789abcdef01234567\n"}},
		"a version of commit": {&debug.BuildInfo{Main: debug.Module{Version: "v0.0.0-20260131120000-0123456789ab+dirty"}, Settings: commit}, "", "v0.0.0-20260131120000-0123456789ab+dirty", nil},
		"a release":           {&debug.BuildInfo{Main: debug.Module{Version: "(devel)"}, Settings: commit[:2]}, "v1.2.3", "v1.2.3 (0123456789ab)", []string{"version      v1.2.3\n"}},
		"go install":          {&debug.BuildInfo{Main: debug.Module{Version: "v1.2.3"}}, "", "v1.2.3", []string{"commit       unknown\n"}},
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
