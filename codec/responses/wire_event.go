package responses

import "github.com/go-json-experiment/json/jsontext"

// The events of a stream that have a canonical meaning (SDK:
// ResponseStreamEventUnion). All others report the progress of the vendor's own
// tools, whose items come whole with output_item.done.
const (
	eventCreated       = "response.created"
	eventQueued        = "response.queued"
	eventInProgress    = "response.in_progress"
	eventItemAdded     = "response.output_item.added"
	eventItemDone      = "response.output_item.done"
	eventPartAdded     = "response.content_part.added"
	eventPartDone      = "response.content_part.done"
	eventTextDelta     = "response.output_text.delta"
	eventTextDone      = "response.output_text.done"
	eventAnnotation    = "response.output_text.annotation.added"
	eventRefusalDelta  = "response.refusal.delta"
	eventRefusalDone   = "response.refusal.done"
	eventSummaryAdded  = "response.reasoning_summary_part.added"
	eventSummaryDelta  = "response.reasoning_summary_text.delta"
	eventSummaryText   = "response.reasoning_summary_text.done"
	eventSummaryDone   = "response.reasoning_summary_part.done"
	eventThinkingDelta = "response.reasoning_text.delta"
	eventThinkingDone  = "response.reasoning_text.done"
	eventArgsDelta     = "response.function_call_arguments.delta"
	eventArgsDone      = "response.function_call_arguments.done"
	eventInputDelta    = "response.custom_tool_call_input.delta"
	eventInputDone     = "response.custom_tool_call_input.done"
	eventCompleted     = "response.completed"
	eventIncomplete    = "response.incomplete"
	eventFailed        = "response.failed"
	eventError         = "error"
)

// wireEvent is any of these events. Obfuscation and what else has no meaning here
// is left out.
//
//wire:read
type wireEvent struct {
	Type         string         `json:"type"`
	ItemID       string         `json:"item_id"`
	OutputIndex  int            `json:"output_index"`
	ContentIndex int            `json:"content_index"`
	SummaryIndex int            `json:"summary_index"`
	Delta        jsontext.Value `json:"delta" wire:"borrow"`
	Text         jsontext.Value `json:"text" wire:"borrow"`
	Refusal      jsontext.Value `json:"refusal" wire:"borrow"`
	Arguments    jsontext.Value `json:"arguments" wire:"borrow"`
	Input        jsontext.Value `json:"input" wire:"borrow"`
	Logprobs     []wireLogprob  `json:"logprobs"`
	Annotation   jsontext.Value `json:"annotation"`
	Part         jsontext.Value `json:"part"`
	Item         jsontext.Value `json:"item"`
	Response     jsontext.Value `json:"response"`
	Error        jsontext.Value `json:"error"`
}
