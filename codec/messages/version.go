package messages

import (
	"bytes"

	"github.com/genway/genway/codec"
	"github.com/genway/genway/codec/fault"
	"github.com/genway/genway/codec/member"
	genwayv1 "github.com/genway/genway/gen/genway/v1"
	"github.com/go-json-experiment/json/jsontext"
)

// Version2026 is the first version that takes less than 2023-06-01: no parameters of sampling,
// no documents among the contents of assistant turns, and no citations on texts of user turns.
// Changes of answers are not known (platform.claude.com/docs/en/api/versioning, excerpt read
// 2026-11-23).
const Version2026 = "2026-10-21"

var _ codec.Versioned = Codec{}

// CheckVersion implements codec.Versioned.
func (Codec) CheckVersion(req *genwayv1.GenerateTextRequest, version string) error {
	if version < Version2026 {
		return nil
	}
	if lacks := lackingSampling(req.GetSampling()); len(lacks) > 0 {
		return untaken("sampling."+lacks[0], version, "")
	}
	for i, m := range req.GetMessages() {
		for j, p := range m.GetParts() {
			path := member.Within(member.Index("messages", i), ".parts", j)
			if at := documentOf(m, p); at != "" {
				return untaken(path+at, version, " in assistant turns")
			}
			if at := citedIn(m, p); at != "" {
				return untaken(path+at, version, " in user turns")
			}
		}
	}
	return nil
}

func untaken(at, version, where string) error {
	return fault.Unsupported(at, "%s: version %s of the messages protocol does not take it%s", at, version, where)
}

// FitVersion implements codec.Versioned. Of a body of this protocol in Wire it takes out what
// it takes out of the request; every other byte stays.
func (Codec) FitVersion(req *genwayv1.GenerateTextRequest, version string, losses *codec.Losses) (*genwayv1.GenerateTextRequest, error) {
	if version < Version2026 {
		return req, nil
	}
	fitted, changes := codec.Shared(req), []member.Member(nil)
	if lacks := lackingSampling(req.GetSampling()); len(lacks) > 0 {
		fitted.Sampling = codec.Shared(req.GetSampling())
		fitted.Sampling.Temperature, fitted.Sampling.TopP, fitted.Sampling.TopK = nil, nil, nil
		for _, name := range lacks {
			losses.Add("sampling."+name, "the upstream's version of the messages protocol refuses it")
			changes = append(changes, member.Member{Name: name})
		}
	}
	messages, err := uncitedMessages(req.GetMessages(), losses)
	if err != nil {
		return nil, err
	}
	wire := req.GetWire()
	own := wire.GetProtocol() == protocol && len(wire.GetJson()) > 0
	if messages != nil {
		fitted.Messages = messages
		if own {
			changes = append(changes, member.Member{Name: "messages", Value: uncitedTurns(member.Value(wire.GetJson(), "messages"))})
		}
	}
	if !own || len(changes) == 0 {
		return fitted, nil
	}
	fitted.Wire = codec.Shared(wire)
	fitted.Wire.Json, err = member.Patch(wire.GetJson(), changes...)
	return fitted, err
}

// lackingSampling names the parameters that are set and refused, as contract and body do.
func lackingSampling(s *genwayv1.Sampling) []string {
	var names []string
	for _, c := range []struct {
		name string
		set  bool
	}{
		{"temperature", s != nil && s.Temperature != nil}, {"top_p", s != nil && s.TopP != nil}, {"top_k", s != nil && s.TopK != nil},
	} {
		if c.set {
			names = append(names, c.name)
		}
	}
	return names
}

// documentOf returns the path, below the part, of a document that is a part of an assistant turn.
func documentOf(m *genwayv1.Message, p *genwayv1.Part) string {
	switch {
	case m.GetRole() != genwayv1.Role_ROLE_ASSISTANT:
	case p.GetFile() != nil:
		return ".file"
	case p.GetOpaque().GetProtocol() == protocol && p.GetOpaque().GetType() == "document":
		return ".opaque"
	}
	return ""
}

// citedIn returns the path, below the part, of citations that are refused: on a text of a user
// turn, or in one of its search results.
func citedIn(m *genwayv1.Message, p *genwayv1.Part) string {
	if !isUserTurn(m) {
		return ""
	}
	switch {
	case len(p.GetText().GetCitations()) > 0:
		return ".text.citations"
	case p.GetToolResult() != nil:
		for i, inner := range p.GetToolResult().GetParts() {
			if citedResult(inner.GetOpaque()) {
				return member.Within(".tool_result", ".parts", i) + ".opaque"
			}
		}
	case citedResult(p.GetOpaque()):
		return ".opaque"
	}
	return ""
}

// isUserTurn reports whether a message becomes a turn of the user. Results of tools do.
func isUserTurn(m *genwayv1.Message) bool {
	return m.GetRole() == genwayv1.Role_ROLE_USER || m.GetRole() == genwayv1.Role_ROLE_TOOL
}

func citedResult(o *genwayv1.OpaquePart) bool {
	return o.GetProtocol() == protocol && len(uncitedBlock(o.GetJson(), false)) != len(o.GetJson())
}

// uncitedMessages returns the messages without the citations that are refused; nil if there are
// none. Documents of assistant turns bear on the answer and are an error.
func uncitedMessages(messages []*genwayv1.Message, losses *codec.Losses) ([]*genwayv1.Message, error) {
	var refused error
	out, changed := codec.RewrittenParts(messages, func(i, j int, p *genwayv1.Part) *genwayv1.Part {
		document, cited := documentOf(messages[i], p), citedIn(messages[i], p)
		if document+cited == "" || refused != nil {
			return nil
		}
		path := member.Within(member.Index("messages", i), ".parts", j)
		if document != "" {
			path += document
			refused = fault.Unsupported(path, "%s: the upstream speaks version %s of the messages protocol, which takes no documents in assistant turns", path, Version2026)
			return nil
		}
		losses.Add(path+cited, "the upstream's version of the messages protocol takes no citations in user turns")
		return uncitedPart(p)
	})
	if refused != nil || !changed {
		return nil, refused
	}
	return out, nil
}

func uncitedPart(p *genwayv1.Part) *genwayv1.Part {
	out := codec.Shared(p)
	switch k := p.GetKind().(type) {
	case *genwayv1.Part_Text:
		text := codec.Shared(k.Text)
		text.Citations = nil
		out.Kind = &genwayv1.Part_Text{Text: text}
	case *genwayv1.Part_Opaque:
		opaque := codec.Shared(k.Opaque)
		opaque.Json = uncitedBlock(k.Opaque.GetJson(), false)
		out.Kind = &genwayv1.Part_Opaque{Opaque: opaque}
	case *genwayv1.Part_ToolResult:
		return codec.WithResult(p, func(result *genwayv1.ToolResult) {
			result.Parts, _ = codec.Rewritten(result.GetParts(), func(_ int, inner *genwayv1.Part) *genwayv1.Part {
				if !citedResult(inner.GetOpaque()) {
					return nil
				}
				return uncitedPart(inner)
			})
		})
	}
	return out
}

// uncitedTurns returns the messages of a body without those citations.
func uncitedTurns(messages jsontext.Value) jsontext.Value {
	return eachElement(messages, func(turn jsontext.Value) jsontext.Value {
		if memberText(turn, "role") != "user" {
			return turn
		}
		return inContent(turn, func(block jsontext.Value) jsontext.Value { return uncitedBlock(block, true) })
	})
}

// uncitedBlock returns a block without the citations of its text, if texts are meant, and of the
// texts of search results.
func uncitedBlock(block jsontext.Value, texts bool) jsontext.Value {
	switch memberText(block, "type") {
	case "text":
		if texts && holds(member.Value(block, "citations")) {
			return changed(block, member.Member{Name: "citations"})
		}
	case "search_result":
		return inContent(block, func(inner jsontext.Value) jsontext.Value { return uncitedBlock(inner, true) })
	case "tool_result":
		return inContent(block, func(inner jsontext.Value) jsontext.Value { return uncitedBlock(inner, false) })
	}
	return block
}

// inContent returns an object with its content changed, block by block.
func inContent(of jsontext.Value, change func(jsontext.Value) jsontext.Value) jsontext.Value {
	was := jsontext.Value(member.Value(of, "content"))
	is := eachElement(was, change)
	if len(is) == len(was) {
		return of // what is taken out makes it shorter
	}
	return changed(of, member.Member{Name: "content", Value: is})
}

func changed(object jsontext.Value, change member.Member) jsontext.Value {
	out, err := member.Patch(object, change)
	if err != nil {
		return object // it is no object, which the vendor says
	}
	return out
}

// holds reports whether a value is an array with an element.
func holds(list jsontext.Value) bool {
	found := false
	eachElement(list, func(element jsontext.Value) jsontext.Value { found = true; return element })
	return found
}

// eachElement returns an array with its elements changed. What change gives has the length of
// the element only if it is the element. All bytes between elements stay.
func eachElement(list jsontext.Value, change func(jsontext.Value) jsontext.Value) jsontext.Value {
	d := jsontext.NewDecoder(bytes.NewReader(list), jsontext.AllowInvalidUTF8(true))
	if tok, err := d.ReadToken(); err != nil || tok.Kind() != '[' {
		return list
	}
	var out []byte
	copied := int64(0)
	for d.PeekKind() != ']' {
		was, err := d.ReadValue()
		if err != nil {
			return list
		}
		end := d.InputOffset()
		if is := change(was); len(is) != len(was) {
			out = append(append(out, list[copied:end-int64(len(was))]...), is...)
			copied = end
		}
	}
	if copied == 0 {
		return list
	}
	return append(out, list[copied:]...)
}
