package main

import (
	"context"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/genway/genway/cmd/internal/coreproc"
	"github.com/genway/genway/core/keys"
	"github.com/genway/genway/core/ledger"
	"github.com/genway/genway/core/store"
)

// Each format has a key's name beside its id; an unknown key has no name.
func TestUsageNamesKeys(t *testing.T) {
	dir := t.TempDir()
	db, err := store.Open(t.Context(), store.Config{Location: filepath.Join(dir, store.FileName)})
	if err != nil {
		t.Fatal(err)
	}
	service, err := keys.New(keys.Config{Store: db.Keys()})
	if err != nil {
		t.Fatal(err)
	}
	_, key, err := service.Create(t.Context(), keys.CreateParams{Group: keys.GroupChat, Settings: keys.Settings{Name: "ci"}})
	if err != nil {
		t.Fatal(err)
	}
	now := time.Now()
	process, err := db.Ledger().Begin(t.Context(), now)
	if err != nil {
		t.Fatal(err)
	}
	if err := db.Ledger().Write(t.Context(), process, []*ledger.Entry{
		{Number: 1, Request: ledger.Request{KeyID: key.ID, Model: "m", Start: now}, Result: ledger.Result{Outcome: ledger.OK}},
		{Number: 2, Request: ledger.Request{KeyID: "key_deleted", Model: "m", Start: now}, Result: ledger.Result{Outcome: ledger.OK}},
	}); err != nil {
		t.Fatal(err)
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ args, want string }{
		{"--by model,key", "MODEL KEY KEY NAME REQUESTS"}, //nolint:dupword // two columns
		{"--by model,key", "m " + key.ID + " ci 1"},
		{"--by model,key", "m key_deleted - 1"},
		{"--by key --format csv", "key,key_name,requests"},
		{"--by key --format csv", key.ID + ",ci,1"},
		{"--by key --format csv", "key_deleted,,1"},
		{"--by key --format json", `{"key":"` + key.ID + `","key_name":"ci","requests":1`},
		{"--by key --format json", `{"key":"key_deleted","key_name":"","requests":1`},
	} {
		out := must(t, dir, strings.Fields("usage "+c.args)...)
		if !strings.Contains(regexp.MustCompile(` {2,}`).ReplaceAllString(out, " "), c.want) {
			t.Errorf("%s: no %q in\n%s", c.args, c.want, out)
		}
	}
	if out := must(t, dir, "usage", "--by", "model"); strings.Contains(out, "KEY") {
		t.Errorf("%s", out)
	}
}

// The report in each format; models are words of callers and cannot draw tables.
func TestUsage(t *testing.T) {
	dir := t.TempDir()
	db, err := store.Open(t.Context(), store.Config{Location: filepath.Join(dir, store.FileName)})
	if err != nil {
		t.Fatal(err)
	}
	process, err := db.Ledger().Begin(t.Context(), time.Now())
	if err != nil {
		t.Fatal(err)
	}
	now := time.Now()
	entries := []*ledger.Entry{
		{Number: 1, Request: ledger.Request{Model: "m\n", Owner: "a", Start: now}, Result: ledger.Result{Outcome: ledger.OK, Usage: ledger.Usage{Input: 7, Output: 3, CacheWrite1h: 2}, Cost: 1_234_500_000, Price: "m", FirstEvent: 1500 * time.Millisecond}},
		{Number: 2, Request: ledger.Request{Model: "old", Start: now.Add(-time.Hour)}, Result: ledger.Result{Outcome: ledger.Failed}},
		{Number: 3, Request: ledger.Request{Model: "old", Start: now.Add(-time.Hour)}, Result: ledger.Result{Outcome: ledger.OK, Usage: ledger.Usage{Output: 5}, Unpriced: true, UsageSource: ledger.Rejected}},
	}
	if err := db.Ledger().Write(t.Context(), process, entries); err != nil {
		t.Fatal(err)
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	minute := moment{now.Add(-time.Minute)}
	for _, c := range []struct {
		name, format string
		by           []string
		since, until moment
		want         string
	}{
		{"table", "table", []string{"model"}, moment{}, moment{}, `
MODEL  REQUESTS  OK  FAILED  CANCELLED  INTERRUPTED  OPEN  INPUT  OUTPUT  CACHE READ  CACHE WRITE  THINKING  IMAGES  COST    UNPRICED  ESTIMATED  REJECTED  FIRST EVENTS  FIRST EVENT P50  FIRST EVENT P95
m\n    1         1   0       0          0            0     7      3       0           0            0         0       1.2345  0         0          0         1             1.448s           1.978s
old    2         1   1       0          0            0     0      5       0           0            0         0       0.00    1         1          1         0             -                -
total  3         2   1       0          0            0     7      8       0           0            0         0       1.2345  1         1          1         1             1.448s           1.978s
`},
		{"by two, all priced", "table", []string{"model", "owner"}, minute, moment{}, `
MODEL  OWNER  REQUESTS  OK  FAILED  CANCELLED  INTERRUPTED  OPEN  INPUT  OUTPUT  CACHE READ  CACHE WRITE  THINKING  IMAGES  COST    FIRST EVENTS  FIRST EVENT P50  FIRST EVENT P95
m\n    a      1         1   0       0          0            0     7      3       0           0            0         0       1.2345  1             1.448s           1.978s
`},
		{"until", "csv", []string{"owner", "served_model"}, moment{}, minute, `
owner,served_model,requests,ok,failed,cancelled,interrupted,open,input_tokens,output_tokens,cache_read_tokens,cache_write_tokens,cache_write_30m_tokens,cache_write_1h_tokens,cache_write_12h_tokens,input_audio_tokens,input_image_tokens,output_audio_tokens,output_image_tokens,thinking_tokens,images,tool_calls,cost,unpriced,estimated,rejected,first_events,first_event_unknown,first_event_mean,first_event_p50,first_event_p95
,,2,1,1,0,0,0,0,5,0,0,0,0,0,0,0,0,0,0,0,0,0.00,1,1,1,0,0,,,
`},
		{"csv", "csv", []string{"model"}, minute, moment{}, `
model,requests,ok,failed,cancelled,interrupted,open,input_tokens,output_tokens,cache_read_tokens,cache_write_tokens,cache_write_30m_tokens,cache_write_1h_tokens,cache_write_12h_tokens,input_audio_tokens,input_image_tokens,output_audio_tokens,output_image_tokens,thinking_tokens,images,tool_calls,cost,unpriced,estimated,rejected,first_events,first_event_unknown,first_event_mean,first_event_p50,first_event_p95
"m
",1,1,0,0,0,0,7,3,0,0,0,2,0,0,0,0,0,0,0,0,1.2345,0,0,0,1,0,1500000,1448155,1978238
`},
		{"json", "json", []string{"model"}, minute, moment{}, `
[{"model":"m\n","requests":1,"ok":1,"failed":0,"cancelled":0,"interrupted":0,"open":0,"input_tokens":7,"output_tokens":3,"cache_read_tokens":0,"cache_write_tokens":0,"cache_write_30m_tokens":0,"cache_write_1h_tokens":2,"cache_write_12h_tokens":0,"input_audio_tokens":0,"input_image_tokens":0,"output_audio_tokens":0,"output_image_tokens":0,"thinking_tokens":0,"images":0,"tool_calls":0,"cost":"1.2345","unpriced":0,"estimated":0,"rejected":0,"first_events":1,"first_event_unknown":0,"first_event_mean":1500000,"first_event_p50":1448155,"first_event_p95":1978238}]
`},
	} {
		t.Run(c.name, func(t *testing.T) {
			var out strings.Builder
			command := usageCommand{Data: coreproc.Data{Dir: dir}, By: c.by, Since: c.since, Until: c.until, Format: c.format}
			if err := command.Run(context.Background(), &out); err != nil {
				t.Fatal(err)
			}
			if got, want := out.String(), strings.TrimPrefix(c.want, "\n"); got != want {
				t.Errorf("got\n%swant\n%s", got, want)
			}
		})
	}
}

func TestMoment(t *testing.T) {
	now := time.Now()
	for text, want := range map[string]time.Time{
		"36h":                  now.Add(-36 * time.Hour),
		"30d":                  now.AddDate(0, 0, -30),
		"2026-01-31":           time.Date(2026, 1, 31, 0, 0, 0, 0, time.UTC),
		"2026-01-31T12:00:00Z": time.Date(2026, 1, 31, 12, 0, 0, 0, time.UTC),
	} {
		var m moment
		if err := m.UnmarshalText([]byte(text)); err != nil || m.Sub(want).Abs() > time.Minute {
			t.Errorf("%s: %v, %v", text, m, err)
		}
	}
	for _, text := range []string{"", "soon", "-1h", "-3d", "2026-13-01", "d"} {
		if err := new(moment).UnmarshalText([]byte(text)); err == nil {
			t.Errorf("%q is a time", text)
		}
	}
}
