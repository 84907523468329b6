package cases_test

import (
	"bytes"
	"errors"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/genway/genway/core/upstream/credential"
	"github.com/genway/genway/core/upstream/remote"
	"github.com/genway/genway/protocol"
	"github.com/genway/genway/test/cases/answers"
	"github.com/genway/genway/test/cases/fake"
	"github.com/genway/genway/test/cases/harness"
	"github.com/genway/genway/test/clouds"
)

func credentialCases() []Case {
	return []Case{
		{"V15", "tokens that end in the middle of a run fail no request: the next one is fetched ahead of the end, or awaited where it came too late, one flight per credential", tokensRenewed},
		{"V16", "while the issuer is away the token is used until it ends, and not a moment longer; then each protocol's callers get a native 503 that names the credential, and calls go on when the issuer is back", issuerAway},
		{"V17", "clocks that differ by minutes fail no request: lives of tokens are counted by our own clock, and a signature of AWS that is refused for its date is made again by the service's clock, which is remembered", clockSkew},
	}
}

// clock is a clock that stands still until a test advances it.
type clock struct {
	begun time.Time
	ahead atomic.Int64
}

func newClock() *clock                   { return &clock{begun: time.Now()} }
func (c *clock) now() time.Time          { return c.begun.Add(time.Duration(c.ahead.Load())) }
func (c *clock) advance(d time.Duration) { c.ahead.Add(int64(d)) }

// tenant is an application in a directory whose tokens live an hour.
type tenant struct {
	*clouds.Issuer
	credential credential.Credential
	// atOnce is the most requests for tokens that were under way at once.
	flying, atOnce atomic.Int64
}

// newTenant serves a directory by its clock, and obtains tokens from it by ours.
func newTenant(t *testing.T, ours, its func() time.Time) *tenant {
	t.Helper()
	d := &tenant{Issuer: &clouds.Issuer{Now: its, Check: func(r *http.Request) error {
		if r.URL.Path != "/my-tenant/oauth2/v2.0/token" || r.FormValue("client_id") != "my-app" || r.FormValue("client_secret") != "s" {
			return errors.New("invalid_client")
		}
		return nil
	}}}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		flying := d.flying.Add(1)
		defer d.flying.Add(-1)
		for most := d.atOnce.Load(); flying > most && !d.atOnce.CompareAndSwap(most, flying); most = d.atOnce.Load() {
		}
		d.ServeHTTP(w, r)
	}))
	t.Cleanup(server.Close)
	t.Cleanup(http.DefaultTransport.(*http.Transport).CloseIdleConnections)
	d.credential = credential.NewEntra("auth.entra of upstream east", credential.Entra{Authority: server.URL, Tenant: "my-tenant", ClientID: "my-app", ClientSecret: "s", Now: ours})
	t.Cleanup(func() { _ = d.credential.Close() })
	return d
}

// before is a gateway whose upstream of chat completions wants tokens of the tenant.
func (d *tenant) before(t *testing.T) *harness.Gateway {
	t.Helper()
	return harness.New(t, harness.Config{Remote: func(c *remote.Config) {
		if c.Protocol == protocol.ByKind("chat").ID {
			c.APIKey, c.Credential = "", d.credential
		}
	}})
}

// asks sends requests at once and demands that each is served with a token that is valid.
func (d *tenant) asks(t *testing.T, g *harness.Gateway, times int) {
	t.Helper()
	seen := len(g.Chat.Requests())
	for range times {
		g.Chat.Answer(answers.Text("fine").Answer(harness.Chat, false))
	}
	var group sync.WaitGroup
	for range times {
		group.Go(func() {
			if a := g.Post(harness.Chat, "chat/m", harness.Chat.Hello()); a.Status != http.StatusOK {
				t.Errorf("%d %s", a.Status, a.Body)
			}
		})
	}
	group.Wait()
	calls := g.Chat.Requests()[seen:]
	if len(calls) != times {
		t.Errorf("%d calls for %d requests", len(calls), times)
	}
	for _, r := range calls {
		if token := strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer "); !d.Valid(token) {
			t.Errorf("%q was sent, which is not valid", token)
		}
	}
}

// token is the one in use.
func (d *tenant) token(t *testing.T) string {
	t.Helper()
	bare, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://x", http.NoBody)
	if err == nil {
		_, err = d.credential.Authorize(bare, nil)
	}
	if err != nil {
		t.Fatal(err)
	}
	return bare.Header.Get("Authorization")
}

// runs sends requests in steps of 7 min. At the ninth step, 56 min old, the token is replaced
// while requests go on with it.
func (d *tenant) runs(t *testing.T, g *harness.Gateway, steps int, clocks ...*clock) {
	t.Helper()
	age := 0
	for range steps {
		before := d.token(t)
		d.asks(t, g, 4)
		if age == 8 {
			for until := time.Now().Add(time.Minute); d.token(t) == before; runtime.Gosched() {
				if time.Now().After(until) {
					t.Fatal("the token is not replaced")
				}
			}
			age = 0
		}
		for _, c := range clocks {
			c.advance(7 * time.Minute)
		}
		age++
	}
}

func tokensRenewed(t *testing.T) {
	times := newClock()
	d := newTenant(t, times.now, times.now)
	g := d.before(t)
	d.runs(t, g, 50, times)
	if given := d.Given(); given != 7 {
		t.Errorf("%d tokens were given in 5 h 50 min", given)
	}
	// After a while without calls, all that come at once wait for one flight.
	for range 3 {
		given := d.Given()
		times.advance(2 * time.Hour)
		d.asks(t, g, 16)
		if more := d.Given() - given; more != 1 {
			t.Errorf("%d tokens were given at once", more)
		}
	}
	// The tokens are revoked before their end: the vendor's 401 has them fetched anew.
	given := d.Given()
	d.Revoke()
	g.Chat.Answer(fake.Refusal(http.StatusUnauthorized, `{"error":{"message":"expired"}}`), answers.Text("fine").Answer(harness.Chat, false))
	if a := g.Post(harness.Chat, "chat/m", harness.Chat.Hello()); a.Status != http.StatusOK || d.Given() != given+1 {
		t.Errorf("%d %s, and %d tokens more", a.Status, a.Body, d.Given()-given)
	}
	if most := d.atOnce.Load(); most != 1 {
		t.Errorf("%d flights at once", most)
	}
}

func issuerAway(t *testing.T) {
	times := newClock()
	d := newTenant(t, times.now, times.now)
	g := d.before(t)
	d.asks(t, g, 1)
	times.advance(59 * time.Minute)
	d.SetAway(true)
	for range 5 { // the last one 24 s ahead of its end; 10 s ahead it is not sent any more
		d.asks(t, g, 4)
		times.advance(9 * time.Second)
	}
	times.advance(15 * time.Second)
	called := len(g.Chat.Requests())
	for _, caller := range harness.Texts() {
		for _, stream := range []bool{false, true} {
			a := g.Call(harness.CallOf(caller, "chat/m", caller.Hello(), stream))
			answer := a.JSON()
			if text := answer.At("error.message").Text(); a.Status != http.StatusServiceUnavailable || !strings.Contains(text, "auth.entra of upstream east") {
				t.Errorf("%s, streamed %t: %d %s", caller, stream, a.Status, a.Body)
			}
			if bytes.Contains(a.Body, []byte("token-")) || bytes.Contains(a.Body, []byte("http")) {
				t.Errorf("%s learns of the issuer: %s", caller, a.Body)
			}
			native := map[harness.Protocol][2]string{harness.Messages: {"error.type", "api_error"}, harness.GenerateContent: {"error.status", "UNAVAILABLE"}, harness.Interactions: {"error.code", "unavailable"}}[caller]
			if native[0] != "" && answer.At(native[0]).Text() != native[1] {
				t.Errorf("%s: %s", caller, a.Body)
			}
		}
	}
	if more := len(g.Chat.Requests()) - called; more != 0 {
		t.Errorf("%d calls without a valid token", more)
	}
	// The issuer is asked again after a pause, which is 15 s at most.
	d.SetAway(false)
	times.advance(15 * time.Second)
	d.asks(t, g, 8)
}

func clockSkew(t *testing.T) {
	for _, wrong := range []time.Duration{-20 * time.Minute, 20 * time.Minute} {
		t.Run("tokens "+wrong.String(), func(t *testing.T) {
			ours, its := newClock(), newClock()
			ours.advance(wrong)
			d := newTenant(t, ours.now, its.now)
			d.runs(t, d.before(t), 20, ours, its)
			if given := d.Given(); given != 3 {
				t.Errorf("%d tokens were given in 2 h 20 min", given)
			}
		})
		t.Run("signatures "+wrong.String(), func(t *testing.T) { signedByTheirClock(t, wrong) })
	}
}

// signedByTheirClock has AWS refuse the signature of a clock that is wrong, as it does.
func signedByTheirClock(t *testing.T, wrong time.Duration) {
	t.Helper()
	u := upstreamOf(t, "kind: messages, provider: bedrock, region: us-east-1, auth: {aws: {}}")
	ours := newClock()
	ours.advance(wrong)
	keys := credential.NewAWS("n", credential.AWS{Source: credential.AWSKeys, AccessKeyID: awsKeys.ID, SecretAccessKey: awsKeys.Secret, Region: u.SigningRegion(), Service: u.Place().Service, Now: ours.now})
	t.Cleanup(func() { _ = keys.Close() })
	at := place(t, u)
	g := harness.New(t, harness.Config{Remote: func(c *remote.Config) {
		if at(c); c.Protocol == protocol.ByKind(u.Kind).ID {
			c.Credential = keys
		}
	}})
	refused := func() error {
		r := g.Messages.Last(t)
		r.Header.Set("X-Test-Host", strings.TrimPrefix(g.Messages.URL, "http://"))
		return proved(u, r)
	}
	say := answers.Text("fine")
	refusal := func() fake.Answer {
		return fake.Refusal(http.StatusForbidden, `{"message":"Signature expired: it is now earlier"}`, "X-Amzn-Errortype", "InvalidSignatureException:http://internal.amazon.com/coral/", "Date", time.Now().UTC().Format(http.TimeFormat))
	}
	// The fake refuses the first signature, as it must: the next one is right.
	g.Messages.Answer(refusal(), say.Answer(harness.Messages, false))
	if a := g.Post(harness.Messages, "messages/m", harness.Messages.Hello()); a.Status != http.StatusOK {
		t.Fatalf("%d %s", a.Status, a.Body)
	}
	calls := g.Messages.Requests()
	if len(calls) != 2 || calls[0].Header.Get("X-Amz-Date") == calls[1].Header.Get("X-Amz-Date") {
		t.Fatalf("%d calls", len(calls))
	}
	first := calls[0]
	first.Header.Set("X-Test-Host", strings.TrimPrefix(g.Messages.URL, "http://"))
	if err := proved(u, first); err == nil || !strings.Contains(err.Error(), "Signature") {
		t.Errorf("the first signature is %v", err)
	}
	if err := refused(); err != nil {
		t.Error(err)
	}
	for _, stream := range []bool{false, true} {
		g.Messages.Answer(say.Answer(harness.Messages, stream))
		if a := g.Call(harness.CallOf(harness.Messages, "messages/m", harness.Messages.Hello(), stream)); a.Status != http.StatusOK {
			t.Errorf("%d %s", a.Status, a.Body)
		}
		if err := refused(); err != nil {
			t.Error(err)
		}
	}
	if more := len(g.Messages.Requests()); more != 4 {
		t.Errorf("%d calls: the clock was not remembered", more)
	}
	// A refusal whose date is as we know it is the caller's to see, and is not sent again.
	g.Messages.Answer(refusal())
	if a := g.Post(harness.Messages, "messages/m", harness.Messages.Hello()); a.Status == http.StatusOK {
		t.Errorf("%d %s", a.Status, a.Body)
	}
}
