package store

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestDataDir(t *testing.T) {
	working, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	// Absolute on the system that runs the test, whichever it is asked about.
	home, data := filepath.Join(working, "home"), filepath.Join(working, "data")
	tests := map[string]struct {
		goos, flag string
		env        map[string]string
		want       string
	}{
		"flag first":         {"linux", data, map[string]string{"GENWAY_DATA": home, "XDG_DATA_HOME": home, "HOME": home}, data},
		"relative flag":      {"linux", "there", nil, filepath.Join(working, "there")},
		"then environment":   {"linux", "", map[string]string{"GENWAY_DATA": data, "XDG_DATA_HOME": home, "HOME": home}, data},
		"relative likewise":  {"windows", "", map[string]string{"GENWAY_DATA": "./there/"}, filepath.Join(working, "there")},
		"then xdg":           {"linux", "", map[string]string{"XDG_DATA_HOME": data, "HOME": home}, filepath.Join(data, "genway")},
		"relative xdg is no": {"linux", "", map[string]string{"XDG_DATA_HOME": "data", "HOME": home}, filepath.Join(home, ".local", "share", "genway")},
		"then home":          {"freebsd", "", map[string]string{"HOME": home}, filepath.Join(home, ".local", "share", "genway")},
		"macos":              {"darwin", "", map[string]string{"HOME": home}, filepath.Join(home, "Library", "Application Support", "genway")},
		"macos with xdg":     {"darwin", "", map[string]string{"XDG_DATA_HOME": data, "HOME": home}, filepath.Join(data, "genway")},
		"windows":            {"windows", "", map[string]string{"LOCALAPPDATA": data, "HOME": home}, filepath.Join(data, "genway")},
		"nothing":            {"linux", "", nil, ""},
		"relative home":      {"linux", "", map[string]string{"HOME": "home"}, ""},
		"nothing on windows": {"windows", "", map[string]string{"HOME": home}, ""},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			got, err := dataDir(test.goos, test.flag, func(name string) string { return test.env[name] })
			if got != test.want || (err != nil) != (test.want == "") {
				t.Errorf("got %q, %v, want %q", got, err, test.want)
			}
			if err != nil && !strings.Contains(err.Error(), "GENWAY_DATA") {
				t.Errorf("%q does not say what to do", err)
			}
		})
	}
}

func TestDataDirOfThisSystem(t *testing.T) {
	home := t.TempDir()
	got, err := DataDir("", func(name string) string {
		if name == "GENWAY_DATA" {
			return ""
		}
		return home
	})
	if rel, relErr := filepath.Rel(home, got); err != nil || relErr != nil || !filepath.IsLocal(rel) || filepath.Base(got) != "genway" {
		t.Errorf("got %q, %v", got, err)
	}
}
