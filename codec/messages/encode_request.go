package messages

import (
	"github.com/genway/genway/codec"
	"github.com/genway/genway/codec/fit"
	"github.com/genway/genway/codec/member"
	genwayv1 "github.com/genway/genway/gen/genway/v1"
)

// EncodeRequest writes a body of /v1/messages. Errors and losses name members of
// the canonical message.
func (Codec) EncodeRequest(req *codec.Request, losses *codec.Losses) ([]byte, error) {
	if err := reserves(req.GenerateTextRequest); err != nil {
		return nil, err
	}
	r, err := fit.Request(req.GenerateTextRequest, protocol, losses)
	if err != nil {
		return nil, err
	}
	w := requestWriter(member.SizeOfRequest(r))
	limit := r.GetMaxOutputTokens()
	if r.MaxOutputTokens == nil {
		limit = MaxTokens(r.GetModel())
	}
	w.Begin()
	w.Str("model", r.GetModel())
	w.Int("max_tokens", limit)
	w.conversation(r, losses)
	if req.Stream {
		w.Bool("stream", true)
	}
	var s settings
	s.encode(r, losses)
	s.writeMembers(w.Writer)
	if err := omitSettings(r, losses); err != nil {
		return nil, err
	}
	w.tools(r, losses)
	w.thinking(r.GetThinking(), limit, losses)
	w.outputConfig(r, losses)
	w.delivery(r, losses)
	w.natives(r.GetNativeFields(), "", losses, "metadata", "output_config")
	w.End()
	return patched(w, r.GetExtraJson())
}

// delivery writes what is about the call rather than the answer.
func (w *writer) delivery(r *genwayv1.GenerateTextRequest, losses *codec.Losses) {
	if r.GetUser() != "" || native(r.GetNativeFields(), "metadata") != nil {
		w.Object("metadata")
		w.StrOpt("user_id", r.GetUser())
		w.merge(r.GetNativeFields(), "metadata", "")
		w.End()
	}
	w.cacheControl(r.GetCacheControl(), "", losses)
}

// reserved are the members of a body that fields of the contract are written to.
var reserved = member.ReservedBy[wireRequest]()

// reserves refuses native fields that say what the contract has a field for. The type and
// the display of thinking are words that the contract may not know.
func reserves(r *genwayv1.GenerateTextRequest) error {
	if err := reserved.Fields(protocol, r.GetNativeFields(), "", "thread"); err != nil {
		return err
	}
	return reserved.In("thinking").Fields(protocol, r.GetThinking().GetNativeFields(), "thinking", "type", "display")
}

// patched merges the members of an extra_json object into the top level of body.
func patched(w *writer, extra string) ([]byte, error) {
	body, err := w.Finish()
	if err != nil {
		return nil, err
	}
	return member.Merge(body, extra, "extra_json", reserved)
}
