package main

import (
	"context"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/genway/genway/cmd/internal/coreproc"
	"github.com/genway/genway/core/ledger"
	"github.com/genway/genway/core/store"
)

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
	entries := []*ledger.Entry{
		{Number: 1, Request: ledger.Request{Model: "m\n", Start: time.Now()}, Result: ledger.Result{Outcome: ledger.OK, Usage: ledger.Usage{Input: 7, Output: 3, CacheWrite1h: 2}}},
		{Number: 2, Request: ledger.Request{Model: "old", Start: time.Now().Add(-time.Hour)}, Result: ledger.Result{Outcome: ledger.Failed}},
	}
	if err := db.Ledger().Write(t.Context(), process, entries); err != nil {
		t.Fatal(err)
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		format string
		since  time.Duration
		want   string
	}{
		{"table", 0, `
MODEL  REQUESTS  OK  FAILED  CANCELLED  INTERRUPTED  OPEN  INPUT  OUTPUT  CACHE READ  CACHE WRITE  THINKING  IMAGES
m\n    1         1   0       0          0            0     7      3       0           0            0         0
old    1         0   1       0          0            0     0      0       0           0            0         0
`},
		{"csv", time.Minute, `
model,requests,ok,failed,cancelled,interrupted,open,input_tokens,output_tokens,cache_read_tokens,cache_write_tokens,cache_write_1h_tokens,thinking_tokens,input_image_tokens,input_audio_tokens,output_image_tokens,output_audio_tokens,images
"m
",1,1,0,0,0,0,7,3,0,0,2,0,0,0,0,0,0
`},
		{"json", time.Minute, `
[{"model":"m\n","requests":1,"ok":1,"failed":0,"cancelled":0,"interrupted":0,"open":0,"input_tokens":7,"output_tokens":3,"cache_read_tokens":0,"cache_write_tokens":0,"cache_write_1h_tokens":2,"thinking_tokens":0,"input_image_tokens":0,"input_audio_tokens":0,"output_image_tokens":0,"output_audio_tokens":0,"images":0}]
`},
	} {
		t.Run(c.format, func(t *testing.T) {
			var out strings.Builder
			command := usageCommand{Data: coreproc.Data{Dir: dir}, By: "model", Since: c.since, Format: c.format}
			if err := command.Run(context.Background(), &out); err != nil {
				t.Fatal(err)
			}
			if got, want := out.String(), strings.TrimPrefix(c.want, "\n"); got != want {
				t.Errorf("got\n%swant\n%s", got, want)
			}
		})
	}
}
