package sandbox

import (
	"sync"

	"github.com/genway/genway/codec/fault"
	genwayv1 "github.com/genway/genway/gen/genway/v1"
	"github.com/go-json-experiment/json"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
)

// memory keeps the last conversations of the responses protocol, in which a client
// may go on from an earlier answer by its identifier alone. It lasts as long as the
// process. The zero memory is ready for use.
type memory struct {
	mu   sync.Mutex
	said map[string][]*genwayv1.Message
	// ids are the keys of said, oldest first.
	ids []string
}

const (
	mostRemembered    = 128
	largestRemembered = 256 << 10 // bytes of one conversation
	previousResponse  = "previous_response_id"
)

// keep remembers an answered conversation, if the caller's protocol has a use for it
// and the caller did not decline (store: false).
func (m *memory) keep(req *genwayv1.GenerateTextRequest, resp *genwayv1.GenerateTextResponse) {
	if req.GetWire().GetProtocol() != genwayv1.Protocol_PROTOCOL_RESPONSES || req.Store != nil && !req.GetStore() {
		return
	}
	size := proto.Size(resp)
	var said []*genwayv1.Message
	for _, message := range req.GetMessages() {
		// The protocol's instructions hold for one answer.
		if message.GetRole() == genwayv1.Role_ROLE_SYSTEM {
			continue
		}
		if size += proto.Size(message); size > largestRemembered {
			return
		}
		said = append(said, proto.CloneOf(message))
	}
	for _, c := range resp.GetCandidates() {
		answer := &genwayv1.Message{Role: genwayv1.Role_ROLE_ASSISTANT}
		for _, p := range c.GetParts() {
			answer.Parts = append(answer.Parts, proto.CloneOf(p))
		}
		said = append(said, answer)
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.said == nil {
		m.said = map[string][]*genwayv1.Message{}
	}
	if len(m.ids) == mostRemembered {
		delete(m.said, m.ids[0])
		m.ids = append(m.ids[:0], m.ids[1:]...)
	}
	m.said[resp.GetId()] = said
	m.ids = append(m.ids, resp.GetId())
}

// recall gives the request with the conversation it goes on from. A request that
// refers to none is given as it is; one that refers to an unknown one is refused in
// the words of the protocol.
func (m *memory) recall(req *genwayv1.GenerateTextRequest) (*genwayv1.GenerateTextRequest, error) {
	for _, n := range req.GetNativeFields() {
		var id string
		switch {
		case n.GetName() == "thread" && n.GetProtocol() == genwayv1.Protocol_PROTOCOL_MESSAGES:
			if err := refuseThread(n.GetJson()); err != nil {
				return nil, err
			}
			continue
		case n.GetName() != previousResponse || json.Unmarshal(n.GetJson(), &id) != nil || id == "":
			continue
		}
		m.mu.Lock()
		said, ok := m.said[id]
		m.mu.Unlock()
		if !ok {
			err := fault.Invalid(previousResponse, "Previous response with id '%s' not found.", clip(id, 100))
			err.NativeCode = "previous_response_not_found"
			return nil, err
		}
		full := &genwayv1.GenerateTextRequest{}
		req.ProtoReflect().Range(func(f protoreflect.FieldDescriptor, v protoreflect.Value) bool {
			full.ProtoReflect().Set(f, v)
			return true
		})
		full.Messages = append(append([]*genwayv1.Message{}, said...), req.GetMessages()...)
		return full, nil
	}
	return req, nil
}

// refuseThread refuses to go on with a thread, which the messages protocol's own
// client answers by sending the whole conversation again.
func refuseThread(raw []byte) error {
	var thread struct {
		Type string `json:"type"`
	}
	if json.Unmarshal(raw, &thread) != nil || thread.Type != "continue" {
		return nil
	}
	const message = "Thread not found."
	err := fault.New(fault.NotFound, "THREAD_NOT_FOUND", message)
	err.Param = "thread"
	err.Wire = &genwayv1.WireMessage{
		Protocol: genwayv1.Protocol_PROTOCOL_MESSAGES,
		Json: []byte(`{"type":"error","error":{"type":"not_found_error","message":"` + message +
			`","details":{"error_code":"thread_not_found"}}}`),
	}
	return err
}
