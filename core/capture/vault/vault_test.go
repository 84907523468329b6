package vault_test

import (
	"bytes"
	"context"
	"errors"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/genway/genway/core/audit"
	"github.com/genway/genway/core/capture"
	"github.com/genway/genway/core/capture/vault"
)

// memory is a store in memory that can fail, or wait.
type memory struct {
	mu    sync.Mutex
	rows  map[[2]int64]vault.Row
	read  []audit.Change
	fail  error
	puts  int
	block chan struct{} // Put waits for it; nil does not
}

func (m *memory) Put(ctx context.Context, rows []vault.Row) error {
	if m.block != nil {
		select {
		case <-m.block:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.puts++
	if m.fail != nil {
		return m.fail
	}
	for _, r := range rows {
		if m.rows == nil {
			m.rows = map[[2]int64]vault.Row{}
		}
		m.rows[[2]int64{r.Process, r.Number}] = r
	}
	return nil
}

func (m *memory) Get(_ context.Context, process, number int64, reading audit.Change) (*vault.Row, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	r, ok := m.rows[[2]int64{process, number}]
	if !ok {
		return nil, m.fail
	}
	m.read = append(m.read, reading)
	return &r, m.fail
}

func (m *memory) Has(_ context.Context, process, number int64) (bool, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	_, ok := m.rows[[2]int64{process, number}]
	return ok, m.fail
}

func (m *memory) Delete(_ context.Context, which vault.Selection, count int, _ ...audit.Change) (n int64, err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for at, r := range m.rows {
		if (which.All || !which.Before.IsZero() && r.Expires.Before(which.Before)) && n < int64(count) {
			delete(m.rows, at)
			n++
		}
	}
	return n, m.fail
}

func (m *memory) failing(err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.fail = err
}

func (m *memory) count() int {
	m.mu.Lock()
	defer m.mu.Unlock()
	return len(m.rows)
}

// counts is what has become of captures.
type counts struct {
	mu sync.Mutex
	of map[string]int
}

func (c *counts) add(result string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.of == nil {
		c.of = map[string]int{}
	}
	c.of[result]++
}

func (c *counts) want(t *testing.T, kept, dropped, failed int) {
	t.Helper()
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.of[vault.Kept] != kept || c.of[vault.Dropped] != dropped || c.of[vault.Lost] != failed {
		t.Errorf("%v, not %d kept, %d dropped, %d failed", c.of, kept, dropped, failed)
	}
}

// take captures a request with that body.
func take(v *vault.Vault, number int64, body string) {
	c := v.Begin(&capture.Rule{Until: time.Now().Add(time.Hour), MaxBytes: capture.MaxBytes})
	c.Add(capture.CallerRequest, "chat_completions", []byte(body))
	v.Keep(c, 1, number, "key_1")
}

func ring(t *testing.T, lines ...string) *vault.Ring {
	t.Helper()
	r, err := vault.ParseRing([]byte(strings.Join(lines, "\n")))
	if err != nil {
		t.Fatal(err)
	}
	return r
}

const (
	oldKey = "old AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA="
	newKey = "new AQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQE="
	notOld = "old AgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgI="
)

// What is kept is read as it was, with an entry of the audit, and goes at its end.
func TestKeep(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store, counted := &memory{}, &counts{}
		v := vault.New(vault.Config{Store: store, Count: counted.add})
		defer v.Close()
		v.Use(ring(t, oldKey), 2*time.Hour)
		c := v.Begin(nil, &capture.Rule{Until: time.Now().Add(time.Hour), MaxBytes: 4})
		c.Add(capture.CallerRequest, "messages", []byte("\x00\xff\n{prompt}"))
		c.Add(capture.UpstreamAnswer, "chat_completions", nil)
		began := time.Now()
		v.Keep(c, 7, 8, "key_1")
		synctest.Wait()
		row, bodies, err := v.Read(t.Context(), 7, 8, audit.Change{Subject: "7-8"})
		if err != nil || len(bodies) != 2 || string(bodies[0].Data) != "\x00\xff\n{" || !bodies[0].Cut || bodies[0].Protocol != "messages" || bodies[0].Size != 11 || len(bodies[1].Data) != 0 {
			t.Fatalf("%+v, %+v, %v", row, bodies, err)
		}
		if row.KeyID != "key_1" || !row.Start.Equal(began.Truncate(time.Microsecond)) || row.Expires.Sub(row.Start) != 2*time.Hour || row.SealedBy != "old" || row.Content != nil {
			t.Errorf("%+v", row)
		}
		if len(store.read) != 1 || store.read[0].Subject != "7-8" {
			t.Errorf("the audit has %v", store.read)
		}
		if row, _, err := v.Read(t.Context(), 7, 9, audit.Change{}); row != nil || err != nil {
			t.Errorf("another request: %v, %v", row, err)
		}
		time.Sleep(2*time.Hour + time.Second) //nolint:forbidigo // of the bubble
		if row, _, err := v.Read(t.Context(), 7, 8, audit.Change{}); row != nil || err != nil {
			t.Errorf("its time is over: %v, %v", row, err)
		}
		time.Sleep(11 * time.Minute) //nolint:forbidigo // of the bubble
		synctest.Wait()
		if n := store.count(); n != 0 {
			t.Errorf("%d rows whose time is over", n)
		}
		counted.want(t, 1, 0, 0)
	})
}

// With a key nothing of a body is in the store; each of the file's keys opens what it has sealed, and
// no other. A row in the place of another, a damaged one and one of another key of the same name are
// not read.
func TestSealed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := &memory{}
		v := vault.New(vault.Config{Store: store})
		defer v.Close()
		for i, r := range []*vault.Ring{nil, ring(t, oldKey), ring(t, "# the new one first", "", newKey, oldKey)} {
			v.Use(r, time.Hour)
			take(v, int64(i), "the prompt")
			synctest.Wait()
			if row := store.rows[[2]int64{1, int64(i)}]; bytes.Contains(row.Content, []byte("prompt")) != (i == 0) || row.SealedBy != []string{"", "old", "new"}[i] {
				t.Errorf("%d is %q: %q", i, row.SealedBy, row.Content)
			}
		}
		reads := func(name string, number int64, want error) {
			t.Helper()
			_, bodies, err := v.Read(t.Context(), 1, number, audit.Change{})
			missing, is := errors.AsType[*vault.MissingKeyError](err)
			wanted, wants := errors.AsType[*vault.MissingKeyError](want)
			switch {
			case wants && (!is || missing.Name != wanted.Name), !wants && !errors.Is(err, want):
				t.Errorf("%s: %v, not %v", name, err, want)
			case err == nil && string(bodies[0].Data) != "the prompt":
				t.Errorf("%s: %+v", name, bodies)
			}
		}
		for number := range int64(3) {
			reads("all keys", number, nil)
		}
		v.Use(ring(t, newKey), time.Hour)
		reads("the old key is gone", 1, &vault.MissingKeyError{Name: "old"})
		reads("in clear", 0, nil)
		v.Use(nil, time.Hour)
		reads("no key file", 2, &vault.MissingKeyError{Name: "new"})
		v.Use(ring(t, notOld, newKey), time.Hour)
		reads("another key of the same name", 1, vault.ErrDamaged)
		moved := store.rows[[2]int64{1, 2}]
		moved.Number = 3
		store.rows[[2]int64{1, 3}] = moved
		reads("a row moved", 3, vault.ErrDamaged)
		for _, content := range []string{"", "\n", "[]", "[{\"length\":1}]\n", "[{\"length\":-1}]\n", "[{\"length\":9223372036854775807}]\nx", "[]\nx", "null\nx", "{}\n"} {
			store.rows[[2]int64{1, 4}] = vault.Row{Process: 1, Number: 4, Expires: time.Now().Add(time.Hour), Content: []byte(content)}
			reads(content, 4, vault.ErrDamaged)
		}
		for _, sealed := range [][]byte{nil, []byte("short"), bytes.Repeat([]byte("x"), 100)} {
			store.rows[[2]int64{1, 4}] = vault.Row{Process: 1, Number: 4, Expires: time.Now().Add(time.Hour), SealedBy: "new", Content: sealed}
			reads("sealed garbage", 4, vault.ErrDamaged)
		}
	})
}

// A store that fails has a capture tried twice and then counted as failed; a store that is back is
// written to. No caller waits meanwhile.
func TestStoreFails(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store, counted := &memory{}, &counts{}
		v := vault.New(vault.Config{Store: store, Count: counted.add})
		store.failing(errors.New("disk on fire"))
		began := time.Now()
		take(v, 1, "a")
		if time.Since(began) > 0 {
			t.Error("the caller has waited")
		}
		time.Sleep(2 * time.Second) //nolint:forbidigo // of the bubble
		synctest.Wait()
		counted.want(t, 0, 0, 1)
		if store.puts != 2 {
			t.Errorf("written %d times", store.puts)
		}
		take(v, 2, "b")
		synctest.Wait()
		store.failing(nil)
		time.Sleep(2 * time.Second) //nolint:forbidigo // of the bubble
		synctest.Wait()
		counted.want(t, 1, 0, 1)
		store.failing(errors.New("again"))
		take(v, 3, "c")
		v.Close()
		v.Close()
		counted.want(t, 1, 0, 2)
		take(v, 4, "d")
		counted.want(t, 1, 1, 2)
	})
}

// A store that hangs has captures dropped when the memory for them is spent, and what was taken is
// written when the store answers. Then the memory is free.
func TestStoreHangs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store, counted := &memory{block: make(chan struct{})}, &counts{}
		v := vault.New(vault.Config{Store: store, Count: counted.add, Memory: 1000})
		for i := range int64(15) {
			take(v, i, strings.Repeat("x", 100))
		}
		synctest.Wait()
		counted.want(t, 0, 5, 0)
		close(store.block)
		synctest.Wait()
		counted.want(t, 10, 5, 0)
		for i := range int64(10) {
			take(v, 100+i, strings.Repeat("x", 100))
		}
		v.Close()
		counted.want(t, 20, 5, 0)
	})
}

// What waits when the vault ends is written.
func TestCloseWrites(t *testing.T) {
	store, counted := &memory{}, &counts{}
	v := vault.New(vault.Config{Store: store, Count: counted.add})
	for i := range int64(100) {
		take(v, i, "x")
	}
	v.Close()
	counted.want(t, 100, 0, 0)
	if store.count() != 100 {
		t.Errorf("%d rows", store.count())
	}
}

// A deletion goes on until nothing is left.
func TestDelete(t *testing.T) {
	store := &memory{}
	v := vault.New(vault.Config{Store: store})
	for i := range int64(250) {
		take(v, i, "x")
	}
	v.Close()
	if n, err := v.Delete(t.Context(), vault.Selection{All: true}); n != 250 || err != nil {
		t.Errorf("%d, %v", n, err)
	}
	store.failing(errors.New("gone"))
	if _, err := v.Delete(t.Context(), vault.Selection{All: true}); err == nil {
		t.Error("the store's error is kept back")
	}
}

func TestParseRing(t *testing.T) {
	many := make([]string, 33)
	for i := range many {
		many[i] = strings.Replace(newKey, "new", "k"+strings.Repeat("x", i), 1)
	}
	for name, c := range map[string]struct {
		lines []string
		want  string // of the error; empty is none
	}{
		"one":                {[]string{oldKey}, ""},
		"comments":           {[]string{"\ufeff# keys", "", "  " + oldKey + "\r", newKey, "#"}, ""},
		"empty":              {nil, "no key"},
		"only comments":      {[]string{"# a", ""}, "no key"},
		"no name":            {[]string{"AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA="}, "line 1"},
		"three words":        {[]string{oldKey + " more"}, "line 1"},
		"a short key":        {[]string{oldKey, "new AAAA"}, "line 2"},
		"a long key":         {[]string{"a " + strings.Repeat("A", 64)}, "line 1"},
		"no base64":          {[]string{"a " + strings.Repeat("!", 44)}, "line 1"},
		"bits at the end":    {[]string{"a AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAB="}, "line 1"},
		"a name twice":       {[]string{oldKey, notOld}, "line 2"},
		"an odd name":        {[]string{"a/b AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA="}, "line 1"},
		"a long name":        {[]string{strings.Repeat("a", 65) + " AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA="}, "line 1"},
		"binary":             {[]string{"\x00\x01\x02"}, "line 1"},
		"too many":           {many, "line 33"},
		"too large":          {[]string{strings.Repeat("#", 16<<10+1)}, "at most"},
		"as many as may be":  {many[:32], ""},
		"without an end":     {[]string{oldKey, ""}, ""},
		"a key where a name": {[]string{"AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA= old"}, "line 1"},
	} {
		_, err := vault.ParseRing([]byte(strings.Join(c.lines, "\n")))
		switch {
		case (err == nil) != (c.want == ""), err != nil && !strings.Contains(err.Error(), c.want):
			t.Errorf("%s: %v, not %q", name, err, c.want)
		case err != nil && strings.Contains(err.Error(), "AAAA"):
			t.Errorf("%s: the error has the key: %v", name, err)
		}
	}
	if _, err := vault.LoadRing(t.TempDir() + "/none"); err == nil {
		t.Error("a file that is missing is read")
	}
}
