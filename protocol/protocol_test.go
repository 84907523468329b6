package protocol

import (
	"slices"
	"strings"
	"testing"

	genwayv1 "github.com/genway/genway/gen/genway/v1"
)

// Each public path of the contract belongs to one protocol, but for the list of models,
// whose callers are distinguished by their headers.
func TestPathsOfTheContract(t *testing.T) {
	shared := 0
	for _, b := range Contract() {
		if b.Operation == 0 {
			t.Errorf("%+v: an RPC that the table does not know", b)
		}
		var owners []string
		for _, p := range All() {
			if slices.ContainsFunc(p.Bindings, b.same) {
				owners = append(owners, p.Name)
			}
		}
		if len(owners) > 1 || len(owners) == 0 && b.Operation != ListModels && b.Operation != GetModel {
			t.Errorf("%s %s%s: owners %v, want one", b.Method, b.Prefix, b.Suffix, owners)
		}
		if len(owners) == 0 {
			shared++
		}
	}
	if shared != 2 {
		t.Errorf("%d paths are shared, want /v1/models and /v1/models/{name}", shared)
	}
}

// Names are the enum's, as the ledger has them, and each value of the enum is in
// the table.
func TestNames(t *testing.T) {
	for number, name := range genwayv1.Protocol_name {
		id := genwayv1.Protocol(number)
		want := strings.ToLower(strings.TrimPrefix(name, "PROTOCOL_"))
		if p := Of(id); id != Direct.ID && (p.Name != want || ByName(want) != p || ByKind(p.Kind) != p) {
			t.Errorf("%v is %q of kind %q, want %q", id, p.Name, p.Kind, want)
		}
	}
	if Of(Direct.ID) != Direct || ByKind(Direct.Kind) != Direct || ByName(Direct.Name) != nil {
		t.Error("direct callers are no protocol of an edge")
	}
	if p := Of(99); p == nil || p.Name != "" || p.Codec != nil {
		t.Errorf("an unknown number is %+v", p)
	}
	if ByName("") != nil || ByKind("") != nil {
		t.Error("an empty name is a protocol")
	}
}

// A codec belongs to its protocol.
func TestCodecs(t *testing.T) {
	for _, p := range All() {
		if p.Codec != nil && p.Codec.Protocol() != p.ID || p.Codec == nil != p.Images || p.ErrorCodec() == nil {
			t.Errorf("%s: codec %T", p.Name, p.Codec)
		}
	}
}

// Paths of upstreams are the edge's.
func TestUpstreamPaths(t *testing.T) {
	for _, c := range []struct {
		kind                string
		op                  Operation
		version, path, verb string
		at                  string // where the main path is /x/main
	}{
		{"chat", Generate, "v1", "/chat/completions", "", "/x/main"},
		{"chat", Stream, "v1", "/chat/completions", "", "/x/main"},
		{"responses", Generate, "v1", "/responses", "", "/x/main"},
		{"responses", Compact, "v1", "/responses/compact", "", "/x/main/compact"},
		{"responses", Count, "v1", "/responses/input_tokens", "", "/x/main/input_tokens"},
		{"messages", Count, "v1", "/messages/count_tokens", "", "/x/main/count_tokens"},
		{"generatecontent", Generate, "v1beta", "/models", ":generateContent", "/x/main"},
		{"generatecontent", Stream, "v1beta", "/models", ":streamGenerateContent", "/x/main"},
		{"generatecontent", Count, "v1beta", "/models", ":countTokens", "/x/main"},
		{"generatecontent", ListModels, "v1beta", "/models", "", "/x/models"},
		{"interactions", Generate, "v1beta", "/interactions", "", "/x/main"},
		{"interactions", Stream, "v1beta", "/interactions", "", "/x/main"},
		{"images", Draw, "v1", "/images/generations", "", "/x/main"},
		{"images", Edit, "v1", "/images/edits", "", "/x/edits"},
		{"images", Generate, "v1", "/images/generations", "", "/x/main"},
	} {
		p := ByKind(c.kind)
		if version, path, verb := p.UpstreamPath(c.op); version != c.version || path != c.path || verb != c.verb {
			t.Errorf("%s, operation %d: %s %s %s", c.kind, c.op, version, path, verb)
		}
		if got := p.PathAt("/x/main", c.op); got != c.at {
			t.Errorf("%s, operation %d: %q at another main path", c.kind, c.op, got)
		}
	}
}

// What another protocol has already is refused, and so is what cannot be served.
func TestRegisterRefuses(t *testing.T) {
	before := All()
	good := func() *Protocol {
		return &Protocol{
			ID: 99, Name: "made_up", Kind: "madeup", KeyGroup: "chat", Codec: chatCompletions.Codec,
			Bindings: []Binding{{Operation: Generate, Method: "POST", Prefix: "/v1/made/up"}},
		}
	}
	for name, change := range map[string]func(*Protocol){
		"ID":      func(p *Protocol) { p.ID = messagesProtocol.ID },
		"no ID":   func(p *Protocol) { p.ID = 0 },
		"name":    func(p *Protocol) { p.Name = "responses" },
		"no name": func(p *Protocol) { p.Name = "" },
		"grpc":    func(p *Protocol) { p.Kind = "grpc" },
		"kind":    func(p *Protocol) { p.Kind = "chat" },
		"path":    func(p *Protocol) { p.Bindings[0].Prefix = "/v1/messages" },
		"no path": func(p *Protocol) { p.Bindings = nil },
		"codec":   func(p *Protocol) { p.Codec = nil },
	} {
		p := good()
		change(p)
		if Register(p) == nil {
			t.Errorf("%s: registered", name)
		}
	}
	if len(All()) != len(before) {
		t.Errorf("the table has %d protocols", len(All()))
	}
}
