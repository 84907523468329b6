package console_test

import (
	"context"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/goleak"
	"google.golang.org/grpc"

	"github.com/genway/genway/console"
	"github.com/genway/genway/console/openid"
	"github.com/genway/genway/core"
	"github.com/genway/genway/core/admin"
	"github.com/genway/genway/core/audit"
	"github.com/genway/genway/core/auth"
	"github.com/genway/genway/core/keys"
	"github.com/genway/genway/core/store"
	adminv1 "github.com/genway/genway/gen/genway/admin/v1"
	genwayv1 "github.com/genway/genway/gen/genway/v1"
	"github.com/genway/genway/internal/transport/inproc"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// fixture is a console before an Admin service on an SQLite file.
type fixture struct {
	*console.Console
	config   console.Config
	keys     *keys.Service
	scripted *scripted // of openScripted
	gateway  *fakeGateway
	// provider is the identity provider by which people sign in; nil for none.
	provider atomic.Pointer[openid.Provider]
	// calls are the calls of the Admin service, without those that check sessions.
	calls atomic.Int64
	// ahead moves the console's clock.
	ahead atomic.Int64
	// root is an admin key, and viewer a read-only one.
	root, viewer string
}

func open(t *testing.T) *fixture {
	t.Helper()
	return openWith(t, false)
}

// openScripted opens a console whose requests and topology a test makes up.
func openScripted(tb testing.TB) *fixture {
	tb.Helper()
	return openWith(tb, true)
}

func openWith(tb testing.TB, made bool) *fixture {
	tb.Helper()
	db, err := store.Open(tb.Context(), store.Config{Location: filepath.Join(tb.TempDir(), store.FileName)})
	if err != nil {
		tb.Fatal(err)
	}
	f := &fixture{}
	if f.keys, err = keys.New(keys.Config{Store: db.Keys()}); err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() {
		f.keys.Close()
		_ = db.Close()
	})
	service, err := admin.New(admin.Config{Keys: f.keys, Names: db, Audit: db.Audit(), Usage: db.Ledger(), Requests: db.Requests()})
	if err != nil {
		tb.Fatal(err)
	}
	quiet := slog.New(slog.DiscardHandler)
	var server adminv1.AdminServer = service
	if made {
		f.scripted = &scripted{Service: service, tail: make(chan *adminv1.WatchRequestsResponse)}
		server = f.scripted
	}
	channel := &counted{ClientConnInterface: core.AdminChannel(server, core.Interceptors{Authenticator: auth.Authenticator{Keys: f.keys}, Logger: quiet}), calls: &f.calls}
	f.gateway = startGateway(tb)
	direct := &inproc.Channel{}
	genwayv1.RegisterGenerationServer(direct, f.gateway)
	f.config = console.Config{
		Admin: channel, Generation: direct, Gateway: f.gateway.listener.Dial, Hosts: []string{"console.example"}, Base: "http://127.0.0.1:8080", GRPC: "127.0.0.1:9090", Version: "v0", Logger: quiet,
		Clock:  func() time.Time { return time.Now().Add(time.Duration(f.ahead.Load())) },
		OpenID: f.provider.Load,
		StartSession: func(ctx context.Context, who openid.Identity) (string, error) {
			made, err := f.keys.StartSession(audit.WithActor(ctx, "oidc:"+who.Subject), keys.SessionParams{Subject: who.Subject, Email: who.Email, ReadOnly: who.ReadOnly, ReadCaptures: who.ReadCaptures})
			return made.Raw, err
		},
	}
	if f.Console, err = console.New(f.config); err != nil {
		tb.Fatal(err)
	}
	for raw, policy := range map[*string]keys.Policy{&f.root: {}, &f.viewer: {ReadOnly: true}} {
		if *raw, _, err = f.keys.Create(tb.Context(), keys.CreateParams{Group: keys.GroupAdmin, Settings: keys.Settings{Policy: policy}}); err != nil {
			tb.Fatal(err)
		}
	}
	return f
}

// answer is what a browser gets.
type answer struct {
	code   int
	header http.Header
	body   string
}

// request is one that a page of the console makes, by a session.
func request(tb testing.TB, session, method, path string, form url.Values) *http.Request {
	tb.Helper()
	var body io.Reader
	if form != nil {
		body = strings.NewReader(form.Encode())
	}
	r := httptest.NewRequestWithContext(tb.Context(), method, "http://127.0.0.1:8088"+path, body)
	r.Header.Set("Sec-Fetch-Site", "same-origin")
	if form != nil {
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	}
	if session != "" {
		r.AddCookie(&http.Cookie{Name: "__Host-genway", Value: session})
	}
	return r
}

func (f *fixture) do(r *http.Request) answer {
	w := httptest.NewRecorder()
	f.ServeHTTP(w, r)
	return answer{w.Code, w.Header(), w.Body.String()}
}

func (f *fixture) get(t *testing.T, session, path string) answer {
	t.Helper()
	return f.do(request(t, session, http.MethodGet, path, nil))
}

func (f *fixture) post(tb testing.TB, session, path string, form url.Values) answer {
	tb.Helper()
	if form == nil {
		form = url.Values{}
	}
	return f.do(request(tb, session, http.MethodPost, path, form))
}

// signIn returns the session of a key.
func (f *fixture) signIn(tb testing.TB, key string) string {
	tb.Helper()
	got := f.post(tb, "", "/sign-in", url.Values{"key": {key}})
	if got.code != http.StatusSeeOther {
		tb.Fatalf("sign-in: %d %s", got.code, got.body)
	}
	return cookieOf(tb, got).Value
}

func cookieOf(tb testing.TB, got answer) *http.Cookie {
	tb.Helper()
	cookies := (&http.Response{Header: got.header}).Cookies()
	if len(cookies) != 1 {
		tb.Fatalf("%d cookies: %v", len(cookies), cookies)
	}
	return cookies[0]
}

// counted counts calls.
type counted struct {
	grpc.ClientConnInterface

	calls *atomic.Int64
}

func (c *counted) Invoke(ctx context.Context, method string, args, reply any, opts ...grpc.CallOption) error {
	if method != adminv1.Admin_GetSession_FullMethodName {
		c.calls.Add(1)
	}
	return c.ClientConnInterface.Invoke(ctx, method, args, reply, opts...)
}
