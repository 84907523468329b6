package carried

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/genway/genway/codec"
	"github.com/genway/genway/codec/chat"
	"github.com/genway/genway/codec/dialect"
	"github.com/genway/genway/codec/setting"
	genwayv1 "github.com/genway/genway/gen/genway/v1"
	"google.golang.org/protobuf/proto"
)

var update = flag.Bool("update", false, "write docs/reference/carried.md")

const documentFile = "../../docs/reference/carried.md"

// document is the table of docs/reference/carried.md.
type document struct {
	sections []*section
	// answers is the first section about answers.
	answers int
}

type section struct {
	title string
	rows  []*row
}

type row struct {
	name  string
	cells []finding
}

func (d *document) section(title string) {
	d.sections = append(d.sections, &section{title: title})
}

func (d *document) row(p path, sample int) *row {
	name := p.String()
	if !p.leaf().IsMap() {
		if v := valueText(p.leaf(), values(p.leaf(), 0)[sample]); v != "" {
			name += ": " + v
		}
	}
	last := d.sections[len(d.sections)-1]
	last.rows = append(last.rows, &row{name: name})
	return last.rows[len(last.rows)-1]
}

// check holds docs/reference/carried.md against the table, or writes it.
func (d *document) check(t *testing.T) {
	t.Helper()
	text := d.text()
	if *update && !t.Failed() {
		if err := os.WriteFile(documentFile, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	have, err := os.ReadFile(documentFile)
	if err != nil {
		t.Fatal(err)
	}
	if string(have) != text {
		t.Error("docs/reference/carried.md is not what the codecs do: run go test ./codec/carried -update")
	}
}

const introduction = `# What each protocol carries

Each field of the [typed contract](../../proto/genway/v1/text.proto), set alone in a request and
encoded for an upstream of each protocol. This page is written by a test of the codecs
(` + "`go test ./codec/carried -update`" + `), which fails for a field that is neither in the body, nor
lost or refused by name.

| cell | means |
|---|---|
| yes | the field is in the upstream's body, as it is or in the protocol's own form |
| yes N | the body means the same without it; reason N is below |
| lost N | the request is sent without it, and the losses name it; reason N is below |
| refused N | the request is refused by the field's name |
| – | what the field is in is refused already |

Native fields here belong to another protocol: the members of a caller's own protocol reach an
upstream of it as they are.
`

// withoutField lists the members of requests that the contract has no field for.
func withoutField() string {
	var b strings.Builder
	b.WriteString(`
## Members without a field

Members of a protocol that the contract has no field for reach an upstream of their own protocol. For another protocol a member
is refused if it brings content from elsewhere or changes how the answer is given; the others are lost. A value that is empty, or in the
third column, says nothing and is neither.

| protocol | member | nothing | for another protocol |
|---|---|---|---|
`)
	for _, c := range setting.Columns() {
		for _, n := range c.Natives {
			word, neutral := "lost", n.Neutral
			switch {
			case n.Binds && n.With != "":
				word = "refused if it has `" + n.With + "`, else lost"
			case n.Binds:
				word = "refused"
			}
			if n.Shared != 0 {
				word += "; carried to " + setting.Columns()[slices.IndexFunc(setting.Columns(), func(c setting.Column) bool { return c.Protocol == n.Shared })].Codec
			}
			if neutral != "" {
				neutral = "`" + neutral + "`"
			} else if n.Present {
				neutral = "not even an empty value"
			}
			fmt.Fprintf(&b, "| %s | `%s` | %s | %s |\n", c.Codec, n.Name, neutral, word)
		}
	}
	return b.String()
}

const answerIntroduction = `
# What callers get of an answer

Each field of an answer, set alone and encoded for a caller of each protocol. An answer and a
stream that amounts to it say the same.
`

func (d *document) text() string {
	var b strings.Builder
	b.WriteString(introduction)
	reasons := map[string]int{}
	var order []string
	cell := func(f finding) string {
		word := map[verdict]string{mapped: "yes", otherMember: "yes", lost: "lost", refused: "refused", impossible: "–", silent: "silent"}[f.verdict]
		if f.reason == "" {
			return word
		}
		if reasons[f.reason] == 0 {
			order = append(order, f.reason)
			reasons[f.reason] = len(order)
		}
		return fmt.Sprintf("%s %d", word, reasons[f.reason])
	}
	for i, s := range d.sections {
		if i == d.answers {
			b.WriteString(withoutField())
			b.WriteString(answerIntroduction)
		}
		fmt.Fprintf(&b, "\n## %s\n\n| field | chat | responses | messages | generateContent | interactions |\n|---|---|---|---|---|---|\n", s.title)
		for _, r := range s.rows {
			fmt.Fprintf(&b, "| `%s` |", r.name)
			for _, f := range r.cells {
				b.WriteString(" " + cell(f) + " |")
			}
			b.WriteString("\n")
		}
	}
	b.WriteString("\n## Reasons\n\n")
	for i, reason := range order {
		fmt.Fprintf(&b, "%d. %s\n", i+1, strings.ReplaceAll(reason, "|", "\\|"))
	}
	return b.String()
}

const (
	chatCompletions = genwayv1.Protocol_PROTOCOL_CHAT_COMPLETIONS
	responsesAPI    = genwayv1.Protocol_PROTOCOL_RESPONSES
	messagesAPI     = genwayv1.Protocol_PROTOCOL_MESSAGES
	generateContent = genwayv1.Protocol_PROTOCOL_GENERATE_CONTENT
	interactionsAPI = genwayv1.Protocol_PROTOCOL_INTERACTIONS
)

var everyProtocol = []genwayv1.Protocol{chatCompletions, responsesAPI, messagesAPI, generateContent, interactionsAPI}

// implication is a field that a body says without a member for it.
type implication struct {
	// row ends the name of a row of the table.
	row       string
	protocols []genwayv1.Protocol
	reason    string
}

// impliedInRequests are fields that the upstream obeys without being asked, or that another
// member says.
var impliedInRequests = []implication{
	{"mode: adaptive", []genwayv1.Protocol{chatCompletions, responsesAPI}, "the model decides unless an effort is asked for"},
	{"budget_tokens: -1", []genwayv1.Protocol{chatCompletions, interactionsAPI}, "the model decides unless an effort is asked for"},
	{"include_thoughts: false", []genwayv1.Protocol{responsesAPI, messagesAPI}, "thoughts are in the answer only when they are asked for"},
	{"strict: true", []genwayv1.Protocol{generateContent, interactionsAPI}, "every answer is held to the schema"},
	{"strict: false", []genwayv1.Protocol{generateContent, interactionsAPI}, "there is no strict mode to turn off"},
	{"function.strict: false", []genwayv1.Protocol{responsesAPI}, "the body says so for every function without it"},
	{"allowed_list", []genwayv1.Protocol{generateContent, interactionsAPI}, "names are always a list of allowed tools"},
	{"id", everyProtocol, "only the upstream that made the part knows its identifier"},
	{"tool_result.name", []genwayv1.Protocol{responsesAPI, messagesAPI}, "the call that is answered has it"},
	{"tool_result.custom", []genwayv1.Protocol{chatCompletions, messagesAPI, generateContent, interactionsAPI}, "the call that is answered has it"},
}

// impliedInAnswers are fields of answers that other members say.
var impliedInAnswers = []implication{
	{"create_time", []genwayv1.Protocol{messagesAPI}, "the Date header says when"},
	{"stored", []genwayv1.Protocol{chatCompletions, messagesAPI, generateContent}, "answers are fetched in other protocols"},
	{"complete_time", []genwayv1.Protocol{chatCompletions, messagesAPI, generateContent}, "the answer is complete when it has come"},
	{"cost", everyProtocol, "the header x-genway-cost says it, in streams a trailer"},
	{"cost.nano_dollars", everyProtocol, "likewise"},
	{"cost.estimated", everyProtocol, "likewise"},
	{"stop_reason: end_turn", everyProtocol, "an answer says so unless it says something else"},
	{"stop_reason: stop_sequence", []genwayv1.Protocol{chatCompletions, responsesAPI, generateContent, interactionsAPI}, "the word for the end of a turn says both"},
	{"stop_reason: tool_call", []genwayv1.Protocol{responsesAPI, generateContent}, "the calls in the answer say so"},
	{"native_stop_reason", everyProtocol, "stop_reason says it; the vendor's word is carried where stop_reason says less"},
	{"input_text_tokens", []genwayv1.Protocol{responsesAPI, messagesAPI}, "the totals and the other counts say it"},
	{"output_text_tokens", []genwayv1.Protocol{responsesAPI, messagesAPI}, "the totals and the other counts say it"},
	{"total_tokens", []genwayv1.Protocol{messagesAPI}, "it is the sum of the others"},
	{"id", everyProtocol, "only the upstream that made the part knows its identifier"},
	{"citations[0].native", []genwayv1.Protocol{generateContent}, "the other fields say what is cited"},
}

// neutral returns why a value of a setting is so without a member for it, where the table of settings
// says that.
func neutral(row string, to genwayv1.Protocol) (string, bool) {
	for _, s := range setting.Texts() {
		value, ok := strings.CutPrefix(row, s.Field+": ")
		switch place := s.Of(to); {
		case !ok:
		case value == place.Implied:
			return place.ImpliedBy, true
		case value == s.Neutral:
			return "it says what is so without it", true
		}
	}
	return "", false
}

// impliedBy returns the member that implies a field which is not encoded itself.
func impliedBy(implied []implication, row string, to genwayv1.Protocol) (string, bool) {
	for _, i := range implied {
		if row != i.row && !strings.HasSuffix(row, "."+i.row) {
			continue
		}
		if slices.Contains(i.protocols, to) {
			return i.reason, true
		}
	}
	return "", false
}

// decoding returns the canonical message of a body.
type decoding func(codec.Codec, []byte) (proto.Message, error)

func decodeRequest(c codec.Codec, body []byte) (proto.Message, error) {
	req, err := c.DecodeRequest(body)
	if err != nil {
		return nil, err
	}
	return req.GenerateTextRequest, nil
}

func decodeAnswer(c codec.Codec, body []byte) (proto.Message, error) { return c.DecodeResponse(body) }

// sameWhenRead are fields whose sample changes a body that means the same.
var sameWhenRead = []implication{
	{"image.mime_type", []genwayv1.Protocol{responsesAPI}, "a type that is no image's is left out, and without one the image is a PNG"},
	{"stored", []genwayv1.Protocol{responsesAPI, interactionsAPI}, "it is about what Genway stores, not an upstream"},
	{"complete_time", []genwayv1.Protocol{responsesAPI}, "likewise"},
}

// A member that a codec writes for a field it reads as well: the canonical message of the body with the
// field differs from the message of the body without it. A member that the codec's struct has and that is
// mapped nowhere would be no native field either, and be dropped silently.
func TestEachFieldInABodyIsDecoded(t *testing.T) {
	for _, s := range requestSubjects() {
		decodesEachField(t, s, encodeRequest, decodeRequest)
	}
	for _, s := range answerSubjects() {
		decodesEachField(t, s, encodeAnswer, decodeAnswer)
	}
}

func decodesEachField(t *testing.T, s subject, encode encoding, decode decoding) {
	t.Helper()
	var table document
	table.section(s.title)
	_, target := s.make()
	for _, f := range fieldsOf(target.ProtoReflect().Descriptor(), target) {
		for i := range values(f.leaf(), genwayv1.Protocol_PROTOCOL_IMAGES) {
			name := table.row(f, i).name
			for _, c := range codecs {
				without, base := s.make()
				open(base, f[:len(f)-1])
				with, target := s.make()
				set(open(target, f[:len(f)-1]), f.leaf(), i, c.Protocol())
				before, err := encode(c, without, nil)
				if err != nil {
					continue
				}
				after, err := encode(c, with, nil)
				if err != nil || bytes.Equal(before, after) {
					continue
				}
				read, err := decode(c, before)
				if err != nil {
					t.Errorf("%s, %v: %v", s.title, c.Protocol(), err)
					continue
				}
				got, err := decode(c, after)
				if _, known := impliedBy(sameWhenRead, name, c.Protocol()); known {
					continue
				}
				if err != nil {
					t.Errorf("%s: %s, %v: %v", s.title, name, c.Protocol(), err)
				} else if proto.Equal(read, got) {
					t.Errorf("%s: %s, %v: the body has the field, and its decoder drops it silently: map the member where the codec decodes", s.title, name, c.Protocol())
				}
			}
		}
	}
}

// everyDialect are the members at the top that each upstream of chat completions takes: the limit of tokens by
// one of its names, and a format of answers, which is a JSON object at least.
var everyDialect = []string{"model", "messages", "tools", "max_tokens", "max_completion_tokens", "response_format"}

// A field that chat completions has a member for is not written for an upstream whose dialect does not
// have the member.
func TestNoMemberIsWrittenThatADialectLacks(t *testing.T) {
	none := dialect.New("")
	for _, s := range requestSubjects() {
		_, target := s.make()
		for _, f := range fieldsOf(target.ProtoReflect().Descriptor(), target) {
			for i := range values(f.leaf(), genwayv1.Protocol_PROTOCOL_IMAGES) {
				whole, target := s.make()
				set(open(target, f[:len(f)-1]), f.leaf(), i, chatCompletions)
				body, err := chat.Codec{}.EncodeRequest(&codec.Request{GenerateTextRequest: whole.(*genwayv1.GenerateTextRequest), Dialect: none}, nil)
				if err != nil {
					continue // it is refused by name
				}
				var members map[string]json.RawMessage
				if err := json.Unmarshal(body, &members); err != nil {
					t.Fatal(err)
				}
				for name := range members {
					if !slices.Contains(everyDialect, name) {
						t.Errorf("%s: %s: the body has %s, which the upstream is not known to take: add the member to codec/dialect/chat.go, and to settings in codec/chat/dialect.go", s.title, f, name)
					}
				}
			}
		}
	}
}
