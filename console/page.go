package console

import (
	"bytes"
	"context"
	"embed"
	"encoding/csv"
	"errors"
	"fmt"
	"html/template"
	"io/fs"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	adminv1 "github.com/genway/genway/gen/genway/admin/v1"
	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/timestamppb"
)

// call is one request of somebody who is signed in.
type call struct {
	console *Console
	w       http.ResponseWriter
	r       *http.Request
	ctx     context.Context //nolint:containedctx // calls of the Admin service show the session's key by it
	raw     string
	session *adminv1.Key // nil for nobody
	admin   adminv1.AdminClient
}

// writes reports whether the session may change something. It decides what is shown; the Admin
// service decides what is done.
func (c *call) writes() bool { return c.session != nil && !c.session.GetSettings().GetReadOnly() }

// page is what each template is given.
type page struct {
	Title, Path string
	Navigation  any
	// SignedIn and Writes say what the reader may do.
	SignedIn, Writes bool
	Who, Version     string
	Data             any
}

// show writes a page. It is made whole before its first byte is sent.
func (c *call) show(code int, template, title string, data any) {
	p := page{Title: title, Path: c.r.URL.Path, Navigation: navigation, SignedIn: c.session != nil, Writes: c.writes(), Version: c.console.config.Version, Data: data}
	if c.session != nil {
		p.Who = c.session.GetSettings().GetOwner()
	}
	var out bytes.Buffer
	if err := templates()[template].ExecuteTemplate(&out, "layout.html", p); err != nil {
		c.console.config.Logger.Error("a page of the console cannot be made", "page", template, "error", err)
		http.Error(c.w, "This page cannot be shown; the server's log says why.", http.StatusInternalServerError)
		return
	}
	c.w.Header().Set("Content-Type", "text/html; charset=utf-8")
	c.w.WriteHeader(code)
	_, _ = out.WriteTo(c.w) // the browser may have left
}

// pageError is a failure that a page tells in its own words.
type pageError struct {
	code    int
	message string
}

func (e *pageError) Error() string { return e.message }

type errorPage struct {
	Message string
	Fields  []string
}

// fail shows an error: one of the Admin service in the service's words.
func (c *call) fail(err error) {
	if own, ok := errors.AsType[*pageError](err); ok {
		c.show(own.code, "error.html", http.StatusText(own.code), errorPage{Message: own.message})
		return
	}
	st := status.Convert(err)
	code := httpCodes[st.Code()]
	if code == 0 {
		code = http.StatusBadGateway
	}
	data := errorPage{Message: st.Message()}
	if _, ok := status.FromError(err); !ok {
		c.console.config.Logger.Error("the console failed", "path", c.r.URL.Path, "error", err)
		data.Message = "The console failed; the server's log says why."
	}
	for _, d := range st.Details() {
		if bad, ok := d.(*errdetails.BadRequest); ok {
			for _, v := range bad.GetFieldViolations() {
				data.Fields = append(data.Fields, strings.TrimPrefix(v.GetField(), "settings.")+": "+v.GetDescription())
			}
		}
	}
	c.show(code, "error.html", http.StatusText(code), data)
}

// wrongInput returns what the Admin service says is wrong with what somebody typed, if that is it.
func wrongInput(err error) (string, bool) {
	st := status.Convert(err)
	return st.Message(), st.Code() == codes.InvalidArgument || st.Code() == codes.NotFound
}

var httpCodes = map[codes.Code]int{
	codes.InvalidArgument: http.StatusBadRequest, codes.NotFound: http.StatusNotFound,
	codes.PermissionDenied: http.StatusForbidden, codes.Unauthenticated: http.StatusUnauthorized,
	codes.FailedPrecondition: http.StatusConflict, codes.AlreadyExists: http.StatusConflict,
	codes.ResourceExhausted: http.StatusTooManyRequests, codes.Unavailable: http.StatusServiceUnavailable,
	codes.DeadlineExceeded: http.StatusGatewayTimeout, codes.Unimplemented: http.StatusNotImplemented,
}

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
	// time writes a time in UTC, which the script shows in the reader's own time.
	"time": func(t time.Time) template.HTML {
		if t.IsZero() {
			return "–"
		}
		return template.HTML(t.UTC().Format("<time>2006-01-02 15:04:05</time>")) //nolint:gosec // of a time alone
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
	"silent":  silent,
	"weighed": weighed,
	"causes":  causes,
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
	// columnClass is of a cell of a list of requests.
	"columnClass": func(i int) string { return requestColumns[i].Class },
	"protocol":    protocolName, "protocols": protocolNames, "spoken": spoken, "kind": kindName,
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

// money writes nano-dollars as dollars: two digits after the point, or as many as a small sum needs.
func money(nano int64) string {
	d := float64(nano) / 1e9
	switch {
	case nano == 0:
		return "$0"
	case d > -0.0001 && d < 0.0001:
		return "$" + strconv.FormatFloat(d, 'g', 2, 64)
	case d > -1 && d < 1:
		return "$" + strconv.FormatFloat(d, 'f', 4, 64)
	}
	whole := strconv.FormatFloat(d, 'f', 2, 64)
	point := strings.IndexByte(whole, '.')
	n, err := strconv.ParseInt(whole[:point], 10, 64)
	if err != nil {
		return "$" + whole
	}
	return "$" + count(n) + whole[point:]
}

// count writes a figure with a thin space between groups of three digits.
func count(n int64) string {
	digits := strconv.FormatInt(n, 10)
	if n > -1000 && n < 1000 {
		return digits
	}
	sign := ""
	if digits[0] == '-' {
		sign, digits = "-", digits[1:]
	}
	var out strings.Builder
	for i, d := range digits {
		if i > 0 && (len(digits)-i)%3 == 0 {
			out.WriteRune('\u202f')
		}
		out.WriteRune(d)
	}
	return sign + out.String()
}

// unit is a power of 1000.
type unit struct {
	of   int64
	name string
}

var units = []unit{{1e12, "T"}, {1e9, "G"}, {1e6, "M"}, {1e3, "k"}}

// short writes a figure of more than four digits by its first ones and a unit: 12.3 M.
func short(n int64) string {
	if n < 1e4 {
		return count(n)
	}
	u := units[slices.IndexFunc(units, func(u unit) bool { return n >= u.of })]
	return strconv.FormatFloat(float64(n)/float64(u.of), 'f', 1, 64) + " " + u.name
}

// percent writes a share of a whole; a dash where there is no whole.
func percent(part, whole int64) string {
	if whole == 0 {
		return "–"
	}
	return strconv.FormatFloat(100*float64(part)/float64(whole), 'f', 1, 64) + " %"
}

// change writes by how much a figure has grown since it was before, from ten times on as that; a dash where it was 0.
func change(before, now int64) string {
	if before == 0 {
		return "–"
	}
	grown := float64(now) / float64(before)
	if grown >= 10 {
		return fmt.Sprintf("× %.0f", grown)
	}
	return strings.Replace(fmt.Sprintf("%+.1f %%", 100*(grown-1)), "-", "\u2212", 1)
}

// size writes a number of bytes.
func size(n int64) string {
	switch {
	case n >= 1<<20:
		return fmt.Sprintf("%.1f MiB", float64(n)/(1<<20))
	case n >= 1<<10:
		return fmt.Sprintf("%.1f KiB", float64(n)/(1<<10))
	}
	return fmt.Sprint(n, " B")
}

// fromBeginning is took for a scale, which begins with 0.
func fromBeginning(d time.Duration) string {
	if d == 0 {
		return "0"
	}
	return took(d)
}

// took writes a duration in the unit that suits it.
func took(d time.Duration) string {
	switch {
	case d >= time.Minute:
		return d.Round(time.Second).String()
	case d >= time.Second:
		return strconv.FormatFloat(d.Seconds(), 'f', 2, 64) + " s"
	case d >= time.Millisecond:
		return strconv.FormatFloat(float64(d)/float64(time.Millisecond), 'f', 1, 64) + " ms"
	case d > 0:
		return strconv.FormatInt(d.Microseconds(), 10) + " µs"
	}
	return "–"
}

// writeCSV answers with a table. A text that a spreadsheet would take for a formula begins with
// an apostrophe.
func (c *call) writeCSV(name string, rows [][]string) error {
	c.w.Header().Set("Content-Type", "text/csv; charset=utf-8")
	c.w.Header().Set("Content-Disposition", `attachment; filename="`+name+`"`)
	c.w.WriteHeader(http.StatusOK)
	out := csv.NewWriter(c.w)
	for _, row := range rows {
		for i, cell := range row {
			row[i] = cellText(cell)
		}
		if err := out.Write(row); err != nil {
			return nil //nolint:nilerr // the browser has left
		}
	}
	out.Flush()
	return nil
}

func cellText(cell string) string {
	if strings.HasPrefix(cell, "-") && strings.Trim(cell, "-0123456789.") == "" {
		return cell // a figure
	}
	if cell != "" && strings.ContainsRune("=+-@\t\r", rune(cell[0])) {
		return "'" + cell
	}
	return cell
}
