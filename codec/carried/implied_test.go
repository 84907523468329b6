package carried

import (
	"slices"
	"strings"

	"github.com/genway/genway/codec/setting"
	genwayv1 "github.com/genway/genway/gen/genway/v1"
)

const (
	chatCompletions = genwayv1.Protocol_PROTOCOL_CHAT_COMPLETIONS
	responsesAPI    = genwayv1.Protocol_PROTOCOL_RESPONSES
	messagesAPI     = genwayv1.Protocol_PROTOCOL_MESSAGES
	generateContent = genwayv1.Protocol_PROTOCOL_GENERATE_CONTENT
)

var everyProtocol = []genwayv1.Protocol{chatCompletions, responsesAPI, messagesAPI, generateContent}

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
	{"budget_tokens: -1", []genwayv1.Protocol{chatCompletions}, "the model decides unless an effort is asked for"},
	{"include_thoughts: false", []genwayv1.Protocol{responsesAPI, messagesAPI}, "thoughts are in the answer only when they are asked for"},
	{"strict: true", []genwayv1.Protocol{generateContent}, "every answer is held to the schema"},
	{"strict: false", []genwayv1.Protocol{generateContent}, "there is no strict mode to turn off"},
	{"function.strict: false", []genwayv1.Protocol{responsesAPI}, "the body says so for every function without it"},
	{"allowed_list", []genwayv1.Protocol{generateContent}, "names are always a list of allowed tools"},
	{"id", everyProtocol, "only the upstream that made the part knows its identifier"},
	{"tool_result.name", []genwayv1.Protocol{responsesAPI, messagesAPI}, "the call that is answered has it"},
	{"tool_result.custom", []genwayv1.Protocol{chatCompletions, messagesAPI, generateContent}, "the call that is answered has it"},
}

// impliedInAnswers are fields of answers that other members say.
var impliedInAnswers = []implication{
	{"create_time", []genwayv1.Protocol{messagesAPI}, "the Date header says when"},
	{"stop_reason: end_turn", everyProtocol, "an answer says so unless it says something else"},
	{"stop_reason: stop_sequence", []genwayv1.Protocol{chatCompletions, responsesAPI, generateContent}, "the word for the end of a turn says both"},
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
