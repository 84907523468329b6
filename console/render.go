package console

import (
	"embed"
	"html/template"
	"io/fs"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"

	adminv1 "github.com/genway/genway/gen/genway/admin/v1"
	"google.golang.org/protobuf/types/known/timestamppb"
)

//go:embed templates assets
var files embed.FS

// templates are the pages, each with the layout around it. They are read for the first page
// that is asked for, since most processes show none.
var templates = sync.OnceValue(parse)

func parse() map[string]*template.Template {
	layout := template.Must(template.New("").Funcs(functions).ParseFS(files, "templates/layout.html"))
	names, err := fs.Glob(files, "templates/*.html")
	if err != nil {
		panic(err) // the pattern is wrong
	}
	pages := map[string]*template.Template{}
	for _, name := range names {
		base := strings.TrimPrefix(name, "templates/")
		pages[base] = template.Must(template.Must(layout.Clone()).ParseFS(files, name))
	}
	return pages
}

var functions = template.FuncMap{
	"money": money, "count": count, "percent": percent, "change": change, "bytes": size,
	"time": func(t time.Time) string {
		if t.IsZero() {
			return "–"
		}
		return t.UTC().Format("2006-01-02 15:04:05")
	},
	"iso": func(t time.Time) string { return t.UTC().Format(time.RFC3339Nano) },
	"at": func(t *timestamppb.Timestamp) time.Time {
		if t == nil {
			return time.Time{}
		}
		return t.AsTime()
	},
	"dash": func(s string) string {
		if s == "" {
			return "–"
		}
		return s
	},
	// share is the part of the requests that a rule selects.
	"share": func(rule *adminv1.CaptureRule) string {
		if rule.Share == nil {
			return "all"
		}
		return strconv.FormatFloat(100*rule.GetShare(), 'g', 4, 64) + " %"
	},
	// fifth is four fifths of a bound, above which a meter warns.
	"fifth": func(most int64) int64 { return most / 5 * 4 },
	"took":  took, "median": median, "ninetyFifth": ninetyFifth,
	"line":    func(i int) int { return i + 1 },
	"silent":  func(now time.Time, seen *timestamppb.Timestamp) bool { return now.Sub(seen.AsTime()) > silentAfter },
	"weighed": weighed,
	"since": func(now time.Time, t *timestamppb.Timestamp) string {
		return max(0, now.Sub(t.AsTime())).Round(time.Second).String()
	},
	"region": func(title string, lines []diffLine) map[string]any {
		return map[string]any{"Title": title, "Lines": lines}
	},
	"sources": func(title string, members []configurationMember) map[string]any {
		return map[string]any{"Title": title, "Members": members}
	},
	"limit": limitWords,
	"words": func(s string) string { return strings.ReplaceAll(s, "_", " ") },
	"has":   strings.HasPrefix, "join": strings.Join,
}

// assets serves the style and the scripts. Their names do not change with their content, so
// browsers ask each time. A path names a file as it is: one with an escaped .. would lead out of the folder.
func assets() http.Handler {
	server := http.FileServerFS(files)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if info, err := fs.Stat(files, strings.TrimPrefix(r.URL.Path, "/")); err != nil || info.IsDir() {
			http.NotFound(w, r)
			return
		}
		w.Header().Set("Cache-Control", "no-cache")
		server.ServeHTTP(w, r)
	})
}
