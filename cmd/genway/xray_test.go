package main

import (
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/genway/genway/protocol"
)

// xray says of a file what became of each member, without a server.
func TestXray(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string) string {
		t.Helper()
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	body := write("body.json", `{"model":"m","messages":[{"role":"user","content":"Hi"}],"max_tokens":9,"seed":7,"stop":["`+"\\u001b"+`[2J"]}`)
	answer := write("answer.json", `{"id":"msg_1","type":"message","role":"assistant","model":"x","content":[{"type":"text","text":"Hello."}],"stop_reason":"end_turn","usage":{"input_tokens":3,"output_tokens":2}}`)
	events := `event: message_start
data: {"type":"message_start","message":{"id":"msg_1","type":"message","role":"assistant","model":"x","content":[],"stop_reason":null,"usage":{"input_tokens":3,"output_tokens":1}}}

event: content_block_start
data: {"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}}

event: content_block_delta
data: {"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"Hel"}}

event: content_block_delta
data: {"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"lo\u001b."}}

`
	stream := write("events.txt", events)
	streamed := write("streamed.json", `{"model":"m","stream":true,"messages":[{"role":"user","content":"Hi"}]}`)
	blank := write("blank.txt", "\n")
	config := write("genway.yaml", "upstreams:\n  claude: {kind: messages, base_url: \"https://claude.example\"}\nroutes:\n  - {model: \"*\", targets: [{upstream: claude, model: claude-x}]}\n")
	for name, c := range map[string]struct {
		command xrayCommand
		want    []string
		err     string
	}{
		"a kind":          {xrayCommand{To: "messages"}, []string{"translated", "lost", "seed", "stop_sequences[0]", "the upstream gets:"}, ""},
		"a configuration": {xrayCommand{Config: config}, []string{"route *, upstream claude, model claude-x", "changed"}, ""},
		"an answer":       {xrayCommand{To: "messages", Answer: answer}, []string{"choices[0].message.content", "the caller gets:"}, ""},
		"a cut stream":    {xrayCommand{To: "messages", File: streamed, Answer: stream}, []string{"events of the upstream: 4", "it fails: ", "choices[0].message.content", "the upstream's events amount to:", "the caller gets:"}, ""},
		"an empty stream": {xrayCommand{To: "messages", File: streamed, Answer: blank}, []string{"events of the upstream: 0", "it cannot be used: "}, ""},
		"JSON":            {xrayCommand{To: "messages", Format: "json"}, []string{"FATE_LOST"}, ""},
		"strict":          {xrayCommand{To: "messages", Strict: true}, []string{"refused"}, "would be refused"},
		"no target":       {xrayCommand{}, nil, "--to"},
		"no file":         {xrayCommand{To: "messages", File: filepath.Join(dir, "missing")}, nil, "missing"},
	} {
		if c.command.File == "" {
			c.command.File = body
		}
		c.command.Protocol = "chat"
		var out strings.Builder
		err := c.command.Run(t.Context(), &out)
		if c.err == "" && err != nil || c.err != "" && (err == nil || !strings.Contains(err.Error(), c.err)) {
			t.Errorf("%s: %v", name, err)
		}
		for _, want := range c.want {
			if !strings.Contains(out.String(), want) {
				t.Errorf("%s: %q is missing in %s", name, want, out.String())
			}
		}
		if strings.Contains(out.String(), "\x1b") {
			t.Errorf("%s: an escape reaches the terminal", name)
		}
	}
}

// What asks for a protocol by a flag takes each protocol of the table.
func TestFlagsTakeEachProtocol(t *testing.T) {
	for _, command := range []any{xrayCommand{}, explainRoute{}} {
		kind := reflect.TypeOf(command)
		for _, name := range []string{"Protocol", "To"} {
			field, ok := kind.FieldByName(name)
			if !ok {
				continue
			}
			for _, p := range protocol.All() {
				if !slices.Contains(strings.Split(field.Tag.Get("enum"), ","), p.Kind) || !strings.Contains(field.Tag.Get("help"), p.Kind) {
					t.Errorf("%s.%s does not take %s: %s", kind.Name(), name, p.Kind, field.Tag)
				}
			}
		}
	}
}
