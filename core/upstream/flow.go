package upstream

import genwayv1 "github.com/genway/genway/gen/genway/v1"

// FlowOf gives the bytes of output text in one event of a stream: what is shown, thought
// or written as the arguments of a tool call. Upstreams report usage at the end; of a
// stream that ends before it, this is what the usage is estimated by.
func FlowOf(ev *genwayv1.StreamGenerateTextResponse) int {
	d := ev.GetPartDelta()
	if d == nil {
		return 0
	}
	return len(d.GetText()) + len(d.GetThinking()) + len(d.GetSummary().GetText()) + len(d.GetArgumentsJson()) + len(d.GetInput()) + len(d.GetRefusal()) + len(d.GetTranscript())
}
