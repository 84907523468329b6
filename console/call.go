package console

import (
	"bytes"
	"context"
	"errors"
	"net/http"
	"strings"

	adminv1 "github.com/genway/genway/gen/genway/admin/v1"
	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
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
