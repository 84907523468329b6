package sandbox

import (
	"sync"

	"github.com/genway/genway/codec/fault"
	genwayv1 "github.com/genway/genway/gen/genway/v1"
	"github.com/genway/genway/protocol"
	"github.com/go-json-experiment/json"
	"google.golang.org/protobuf/proto"
)

// memory keeps the last conversations of each key of the responses protocol, in which a client
// may go on from an earlier answer by only its identifier. It lasts as long as the
// process. The zero memory is ready for use.
type memory struct {
	mu            sync.Mutex
	conversations map[answered][]*genwayv1.Message
	// ids are the keys of conversations, oldest first.
	ids []answered
}

// answered is an answer, by its identifier, and the caller's key that it was given to.
type answered struct{ key, id string }

const (
	maxRemembered     = 128
	largestRemembered = 256 << 10 // bytes of one conversation
	previousResponse  = "previous_response_id"
)

// keep remembers an answered conversation, if the caller's protocol has a use for it
// and the caller did not decline (store: false).
func (m *memory) keep(key string, req *genwayv1.GenerateTextRequest, resp *genwayv1.GenerateTextResponse) {
	if !protocol.Of(req.GetWire().GetProtocol()).Upstream.StoresItems || req.Store != nil && !req.GetStore() {
		return
	}
	size := proto.Size(resp)
	var turns []*genwayv1.Message
	for _, message := range req.GetMessages() {
		// The protocol's instructions hold for one answer.
		if message.GetRole() == genwayv1.Role_ROLE_SYSTEM {
			continue
		}
		if size += proto.Size(message); size > largestRemembered {
			return
		}
		turns = append(turns, proto.CloneOf(message))
	}
	for _, c := range resp.GetCandidates() {
		answer := &genwayv1.Message{Role: genwayv1.Role_ROLE_ASSISTANT}
		for _, p := range c.GetParts() {
			answer.Parts = append(answer.Parts, proto.CloneOf(p))
		}
		turns = append(turns, answer)
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.conversations == nil {
		m.conversations = map[answered][]*genwayv1.Message{}
	}
	if len(m.ids) == maxRemembered {
		delete(m.conversations, m.ids[0])
		m.ids = append(m.ids[:0], m.ids[1:]...)
	}
	m.conversations[answered{key, resp.GetId()}] = turns
	m.ids = append(m.ids, answered{key, resp.GetId()})
}

// recall returns the request with the conversation it goes on from, or as it is where
// it refers to none. An answer that may have been forgotten, by the form of its
// identifier, is no error, since nothing here is kept for long: the reply and the losses
// then say so (see forgotten), and so they do of an answer to another key. An identifier no
// answer ever had is refused in the protocol's own words.
func (m *memory) recall(key string, req *genwayv1.GenerateTextRequest) (*genwayv1.GenerateTextRequest, error) {
	for _, n := range req.GetNativeFields() {
		if n.GetName() == "thread" && n.GetProtocol() == genwayv1.Protocol_PROTOCOL_MESSAGES {
			if err := refuseThread(n.GetJson()); err != nil {
				return nil, err
			}
		}
	}
	id := previous(req)
	turns, ok := m.find(answered{key, id})
	switch {
	case id == "":
		return req, nil
	case !ok && !answerID().MatchString(id):
		err := fault.Invalid(previousResponse, "Previous response with id '%s' not found.", clip(id, 100))
		err.NativeCode = "previous_response_not_found"
		return nil, err
	case !ok:
		return req, nil
	}
	full := shallow(req, &genwayv1.GenerateTextRequest{})
	full.Messages = append(append([]*genwayv1.Message{}, turns...), req.GetMessages()...)
	return full, nil
}

func (m *memory) find(id answered) ([]*genwayv1.Message, bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	turns, ok := m.conversations[id]
	return turns, ok
}

// answerID is the form of the identifiers of answers, the vendor's included.
var answerID = lazily(`^resp_[0-9A-Za-z]{16,}$`)

// previous is the identifier of the answer a request goes on from; empty for none.
func previous(req *genwayv1.GenerateTextRequest) string {
	for _, n := range req.GetNativeFields() {
		var id string
		if n.GetName() == previousResponse && json.Unmarshal(n.GetJson(), &id) == nil {
			return id
		}
	}
	return ""
}

// forgotten reports whether the request goes on from what is not remembered.
func forgotten(asked, recalled *genwayv1.GenerateTextRequest) bool {
	return asked == recalled && previous(asked) != ""
}

// refuseThread refuses to go on with a thread, which the messages protocol's own
// client answers by sending the whole conversation again.
func refuseThread(raw []byte) error {
	var thread struct {
		Type string `json:"type"`
	}
	err := json.Unmarshal(raw, &thread)
	if err == nil && thread.Type != "continue" {
		return nil
	}
	const message = "Thread not found."
	refusal := fault.Wrap(err, fault.NotFound, "THREAD_NOT_FOUND", message)
	refusal.Param = "thread"
	refusal.Wire = &genwayv1.WireMessage{
		Protocol: genwayv1.Protocol_PROTOCOL_MESSAGES,
		Json: []byte(`{"type":"error","error":{"type":"not_found_error","message":"` + message +
			`","details":{"error_code":"thread_not_found"}}}`),
	}
	return refusal
}
