package transcript

import (
	"strings"

	"github.com/genway/genway/test/cases/harness"
	"github.com/genway/genway/test/cases/probe"
)

func (r *reader) responses(v probe.Value) {
	r.t.Helper()
	v.At("object").Is(r.t, `"response"`)
	r.wantf(v.At("created_at").Exists() && v.At("error").Exists() && v.At("incomplete_details").Exists(), "created_at, error and incomplete_details are required (F6)")
	var echo []string
	for _, item := range v.At("output").List() {
		echo = append(echo, string(item.Raw))
		r.wantf(item.At("id").Text() != "", "an item without id: %s", item.Raw)
		switch item.At("type").Text() {
		case "message":
			for _, c := range item.At("content").List() {
				c.At("type").Is(r.t, `"output_text"`)
				c.At("annotations").Is(r.t, "[]")
				r.turn.Text += c.At("text").Text()
			}
		case "function_call":
			r.turn.Calls = append(r.turn.Calls, Call{item.At("call_id").Text(), item.At("name").Text(), item.At("arguments").Text()})
		case "reasoning":
			for _, c := range append(item.At("summary").List(), item.At("content").List()...) {
				r.turn.Thinking += c.At("text").Text()
			}
			r.wantf(item.At("summary").Exists(), "a reasoning item without summary: %s", item.Raw)
			r.signature(item.At("encrypted_content").Text())
		default:
			r.t.Errorf("unexpected item %s", item.Raw)
		}
	}
	r.turn.Echo = strings.Join(echo, ",")
	r.turn.Finish = v.At("status").Text()
	if reason := v.At("incomplete_details.reason").Text(); reason != "" {
		r.turn.Finish = reason
	}
}

// responsesStream holds the pieces against the done events, and those against
// the whole response at the end.
func (r *reader) responsesStream(frames []harness.Frame) {
	r.t.Helper()
	pieces := map[string]string{}
	items := map[int64]string{}
	open := map[string]bool{}
	last := frames[len(frames)-1]
	for i, f := range frames {
		v := f.JSON()
		v.At("type").Is(r.t, `"`+f.Event+`"`)
		r.wantf(int(v.At("sequence_number").Int()) == i, "event %d has sequence_number %s", i, v.At("sequence_number").Raw)
		r.wantf((i == 0) == (f.Event == "response.created") && (i == 1) == (f.Event == "response.in_progress"), "event %d is %s", i, f.Event)
		item := v.At("item_id").Text()
		place := strings.Join([]string{item, string(v.At("content_index").Raw), string(v.At("summary_index").Raw)}, "/")
		switch name := strings.TrimPrefix(f.Event, "response."); name {
		case "output_item.added":
			id := v.At("item.id").Text()
			r.wantf(id != "" && int(v.At("output_index").Int()) == len(items) && len(open) == 0, "item %s is added at %s while %v are open", id, v.At("output_index").Raw, open)
			items[v.At("output_index").Int()], open[id] = id, true
		case "output_item.done":
			id := v.At("item.id").Text()
			r.wantf(open[id], "item %s is done and was not open (T11)", id)
			delete(open, id)
			last.JSON().At("response.output["+string(v.At("output_index").Raw)+"]").Is(r.t, string(v.At("item").Raw))
		case "output_text.delta", "function_call_arguments.delta", "reasoning_summary_text.delta", "reasoning_text.delta":
			r.wantf(open[item], "%s for %s, which is not open", name, item)
			pieces[place] += v.At("delta").Text()
		case "output_text.done", "reasoning_summary_text.done", "reasoning_text.done":
			r.wantf(v.At("text").Text() == pieces[place], "pieces %q, done %s", pieces[place], v.At("text").Raw)
		case "function_call_arguments.done":
			r.wantf(v.At("arguments").Text() == pieces[place], "pieces %q, done %s", pieces[place], v.At("arguments").Raw)
		}
	}
	r.wantf(last.Event == "response.completed" || last.Event == "response.incomplete", "ends with %s", last.Event)
	r.responses(last.JSON().At("response"))
	r.wantf(len(last.JSON().At("response.output").List()) == len(items) && len(open) == 0, "%d items came, open are %v", len(items), open)
}
