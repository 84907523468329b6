package cases_test

import (
	"context"
	"net/http"
	"path/filepath"
	"strings"
	"testing"
	"time"

	books "github.com/genway/genway/core/ledger"
	"github.com/genway/genway/core/store"
	"github.com/genway/genway/test/cases/fake"
	"github.com/genway/genway/test/cases/harness"
)

// newBook starts a ledger that is looked at by settled.
func newBook(t *testing.T) (*books.Recorder, books.Store) {
	t.Helper()
	return newBookOf(t, books.Config{Window: time.Millisecond})
}

func newBookOf(t *testing.T, config books.Config) (*books.Recorder, books.Store) {
	t.Helper()
	db, err := store.Open(t.Context(), store.Config{Location: filepath.Join(t.TempDir(), "ledger"), RelaxLedger: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	config.Store = db.Ledger()
	recorder, err := books.Start(t.Context(), config)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := recorder.Close(); err != nil {
			t.Error(err)
		}
	})
	return recorder, db.Ledger()
}

func leaversPay(t *testing.T) {
	for _, to := range harness.Texts() {
		rows := map[harness.Protocol]*books.Entry{}
		for _, caller := range harness.Texts() {
			recorder, rowsOf := newBook(t)
			g := harness.New(t, harness.Config{Ledger: recorder})
			u := g.Upstream(to)
			never := make(chan struct{})
			t.Cleanup(func() { close(never) })
			u.Answer(then(begun(to), fake.Wait(never)))
			call := harness.CallOf(caller, string(to)+"/m", caller.Hello(), true)
			readSome(t, g, call, func() {})
			<-u.Last(t).Done
			row := settled(t, rowsOf, 1)
			if row.Outcome != books.Cancelled || row.FirstEvent <= 0 || row.FirstEvent > row.Duration {
				t.Errorf("%s over %s: %+v", caller, to, row.Result)
			}
			rows[caller] = row
		}
		for caller, row := range rows {
			if row.Usage != rows[to].Usage || row.Result.Model != rows[to].Result.Model {
				t.Errorf("%s over %s: %+v of %q; %s, which passes through: %+v of %q", caller, to, row.Usage, row.Result.Model, to, rows[to].Usage, rows[to].Result.Model)
			}
		}
		if row := rows[to]; to == harness.Messages && row.Usage.Input != 11 {
			t.Errorf("%s: %+v", to, row.Usage)
		}
	}
}

// readSome reads a stream up to its first text, calls then, and leaves. A refusal it
// reads over.
func readSome(t *testing.T, g *harness.Gateway, call harness.Call, then func()) {
	t.Helper()
	readUntil(t, g, call, func(seen string) bool { return strings.Contains(seen, `fi"`) }, then)
}

// readUntil does so until it has seen enough.
func readUntil(t *testing.T, g *harness.Gateway, call harness.Call, enough func(seen string) bool, then func()) {
	t.Helper()
	ctx, leave := context.WithCancel(t.Context())
	defer leave()
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, g.URL+call.Path, strings.NewReader(call.Body))
	if err != nil {
		t.Fatal(err)
	}
	req.Header = call.Header
	resp, err := (&http.Client{Transport: &http.Transport{DisableKeepAlives: true}}).Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return
	}
	var seen strings.Builder
	for buf := make([]byte, 1<<10); !enough(seen.String()); {
		n, err := resp.Body.Read(buf)
		seen.Write(buf[:n])
		if err != nil {
			t.Fatalf("%v after %s", err, seen.String())
		}
	}
	then()
}
