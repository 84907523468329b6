package cli

import (
	"bytes"
	"encoding/json"
	"log/slog"
	"strings"
	"testing"
)

// Messages of grpc-go are records of the program's log: an error is a warning, a warning is
// for debugging, since strangers cause them, and none is longer than 1 KiB.
func TestMessagesOfGRPC(t *testing.T) {
	for name, c := range map[string]struct {
		say   func(grpcLog)
		level slog.Level
		want  string
	}{
		"an error":                   {func(g grpcLog) { g.Errorf("no %s\n", "way") }, slog.LevelInfo, `WARN grpc "no way"`},
		"a warning":                  {func(g grpcLog) { g.Warningln("bad", "frame") }, slog.LevelInfo, ""},
		"a warning while debugging":  {func(g grpcLog) { g.Warning("bad frame") }, slog.LevelDebug, `DEBUG grpc "bad frame"`},
		"information":                {func(g grpcLog) { g.Infof("connected") }, slog.LevelDebug, ""},
		"a message without an end":   {func(g grpcLog) { g.Error(strings.Repeat("é", 1<<20)) }, slog.LevelInfo, `WARN grpc "` + strings.Repeat("é", 512) + `…"`},
		"one that a stranger quotes": {func(g grpcLog) { g.Error("a\nlevel=ERROR msg=forged") }, slog.LevelInfo, `WARN grpc "a\nlevel=ERROR msg=forged"`},
	} {
		var out bytes.Buffer
		c.say(grpcLog{slog.New(slog.NewJSONHandler(&out, &slog.HandlerOptions{Level: c.level}))})
		got := ""
		if out.Len() > 0 {
			var record struct{ Level, Msg, Message string }
			if err := json.Unmarshal(out.Bytes(), &record); err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			quoted, err := json.Marshal(record.Message)
			if err != nil {
				t.Fatal(err)
			}
			got = record.Level + " " + record.Msg + " " + string(quoted)
		}
		if got != c.want {
			t.Errorf("%s: %.200s, want %.200s", name, got, c.want)
		}
	}
}
