package core

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/genway/genway/codec"
	"github.com/genway/genway/codec/fault"
	"github.com/genway/genway/codec/member"
	"github.com/genway/genway/codec/responses"
	"github.com/genway/genway/codec/stored"
	"github.com/genway/genway/core/call"
	"github.com/genway/genway/core/items"
	"github.com/genway/genway/core/keys"
	"github.com/genway/genway/core/upstream"
	edgev1 "github.com/genway/genway/gen/genway/edge/v1"
	genwayv1 "github.com/genway/genway/gen/genway/v1"
	"github.com/genway/genway/protocol"
	"github.com/genway/genway/protocol/deferred"
	"google.golang.org/protobuf/types/known/timestamppb"
)

// Callers of protocols with stored answers (protocol.Protocol.Stores), here called responses, may fetch, continue and delete
// them. Upstreams of the caller's protocol store responses themselves; what all others answer, Genway stores
// (docs/decisions/0014). The responses protocol is named here for its input items, for the reason that references.go has.

// storing returns the codec of a body whose protocol has stored answers; nil for others.
func storing(wire *genwayv1.WireMessage) stored.Codec {
	return protocol.Of(wire.GetProtocol()).Stores()
}

// formOf returns the form of a response that is stored, by its identifier.
func formOf(id string) *stored.Form { return protocol.Stored(id).Stored() }

// ofOther reports whether a response that may be stored is of another protocol than its caller's, which cannot say what it is. A
// key may have the groups of both.
func ofOther(caller genwayv1.Protocol, id string) bool {
	c := protocol.Stored(id)
	return c != nil && protocol.Of(caller).Stores() != nil && c.Stored().Protocol != caller
}

// Reasons of what cannot be done with a response.
const (
	ReasonResponsesNotStored   = "RESPONSES_NOT_STORED"
	ReasonConversationTooLarge = "CONVERSATION_TOO_LARGE"
	ReasonResponseNotComplete  = "RESPONSE_NOT_COMPLETE"
)

// conversation is a text request, and what it continues.
type conversation struct {
	// asked is the request as the caller has sent it, and req what it is with the conversation before its input.
	asked, req *deferred.Request
	// earlier is the number of items of that conversation, and before what the turn of the answer has as Turn.Before.
	earlier int
	before  []string
	// unknown is the response that it continues and that was not made through this server; empty for none. An upstream of the
	// protocol may have it.
	unknown string
	// background is the call that makes the answer in the background, which was created then; nil if that is the caller's.
	background *backgroundCall
	created    *timestamppb.Timestamp
}

// continued returns a request with the conversation that it continues, if Genway stores that. It is read before the request is
// admitted, which is weighed with all of it. A request that the key may not make reads nothing.
func (s *Service) continued(ctx context.Context, record *call.Record, req *genwayv1.GenerateTextRequest) (conversation, error) {
	asked := deferred.New(req)
	c := conversation{asked: asked, req: asked}
	id, latest, err := s.earlier(ctx, record, req.GetWire(), req)
	if err != nil || len(latest) == 0 {
		c.unknown = id
		return c, err
	}
	body, earlier, err := storing(req.GetWire()).Stored().Continue(req.GetWire().GetJson(), latest)
	if err != nil {
		return conversation{}, err
	}
	c.earlier, c.before = earlier, latest[0].After(id)
	if c.req, err = rewritten(req, body); err != nil {
		if _, own := rewritten(req, req.GetWire().GetJson()); own != nil {
			return conversation{}, own // which has the caller's positions
		}
	}
	return c, err
}

// refused returns the failure of a request. That no upstream takes what it continues means that this is not there.
func (c *conversation) refused(err error) error {
	if f, ok := errors.AsType[*fault.Error](err); ok && c.unknown != "" && f.Reason == fault.ReasonUnsupported {
		if form := storing(c.asked.Head().GetWire()).Stored(); f.Param == form.Previous {
			return form.PreviousNotFound(c.unknown)
		}
	}
	return err
}

// earlier returns the conversation that a request continues, the latest turn first, and the identifier of its last response. The
// conversation is empty if an upstream stores it, which then is the first choice, and if the response was not made through this
// server: then its identifier is for the upstream. One that was made for another key is not found: an upstream knows no keys of Genway.
func (s *Service) earlier(ctx context.Context, record *call.Record, wire *genwayv1.WireMessage, req *genwayv1.GenerateTextRequest) (string, []*stored.Turn, error) {
	c := storing(wire)
	if s.config.Items == nil || c == nil || len(wire.GetJson()) == 0 {
		return "", nil, nil
	}
	form := c.Stored()
	id := form.PreviousOf(req)
	if id == "" {
		return "", nil, nil
	}
	if err := permit(ctx, record.Caller, req.GetModel()); err != nil {
		return "", nil, err
	}
	if ofOther(wire.GetProtocol(), id) {
		return "", nil, form.PreviousNotFound(id)
	}
	latest, err := s.config.Items.Conversation(ctx, record.Caller.KeyID, id)
	if missing, ok := errors.AsType[*items.NotFoundError](err); ok {
		if missing.ID == id {
			account, known, err := s.config.Items.Made(ctx, record.Caller.KeyID, id)
			switch {
			case err != nil:
				return "", nil, unavailable(ctx, err)
			case known:
				record.MadeBy = account
				return "", nil, nil
			}
			another, err := s.config.Items.MadeForAKey(ctx, id)
			if err != nil {
				return "", nil, unavailable(ctx, err)
			}
			if !another {
				return id, nil, nil
			}
		}
		return "", nil, form.PreviousNotFound(missing.ID)
	}
	if errors.Is(err, items.ErrTooLong) {
		f := fault.New(fault.TooLarge, ReasonConversationTooLarge, "%s: the conversation is too large to be continued; send what is needed of it", form.Previous)
		f.Param = form.Previous
		return "", nil, f
	}
	if err != nil {
		return "", nil, unavailable(ctx, err)
	}
	complete := latest[0].Output != nil
	if complete && latest[0].Background {
		state, err := s.config.Items.State(ctx, items.ResponseID{KeyID: record.Caller.KeyID, ID: id})
		if err != nil {
			return "", nil, unavailable(ctx, err)
		}
		complete = !state.Cancelled
	}
	if !complete {
		f := fault.New(fault.InvalidRequest, ReasonResponseNotComplete, "%s: the response %s is not complete, so that it cannot be continued", form.Previous, id)
		f.Param = form.Previous
		return "", nil, f
	}
	return id, latest, nil
}

// rewritten returns a request with another body.
func rewritten(req *genwayv1.GenerateTextRequest, body []byte) (*deferred.Request, error) {
	c := protocol.Of(req.GetWire().GetProtocol()).Codec
	decode := c.DecodeRequest
	if compacter, ok := c.(codec.Compacter); ok && req.GetCompact() {
		decode = compacter.DecodeCompactRequest
	}
	whole, err := decode(body)
	if err != nil {
		return nil, err
	}
	wire := codec.Shared(req.GetWire())
	wire.Json, wire.Extension = body, &edgev1.RequestExtension{AcceptsBatches: wire.GetExtension().GetAcceptsBatches(), AcceptsTranslatedBatches: wire.GetExtension().GetAcceptsTranslatedBatches()}
	whole.Model, whole.Wire = req.GetModel(), wire
	return deferred.New(whole.GenerateTextRequest), nil
}

// continueCount returns a request to count tokens with the conversation that it continues.
func (s *Service) continueCount(ctx context.Context, record *call.Record, req *genwayv1.CountTokensRequest) (*genwayv1.CountTokensRequest, error) {
	_, latest, err := s.earlier(ctx, record, req.GetWire(), req.GetRequest())
	if err != nil || len(latest) == 0 {
		return req, err
	}
	c := storing(req.GetWire())
	body, _, err := c.Stored().Continue(req.GetWire().GetJson(), latest)
	if err != nil {
		return nil, err
	}
	counter, _ := c.(codec.TokenCounter) // of the request
	whole, err := counter.DecodeCountRequest(body)
	if err != nil {
		return nil, err
	}
	whole.Request.Model = req.GetRequest().GetModel()
	return whole, nil
}

// unavailable is the failure of a request for which the store of items cannot be asked.
func unavailable(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return upstream.Interrupted(ctx)
	}
	f := fault.Wrap(err, fault.Unavailable, ReasonItemsUnavailable, "what the request refers to cannot be looked up at the moment; try again")
	f.RetryAfter = time.Second
	return f
}

// keeper keeps the answer to a request: as a response, or its items alone. The nil keeper keeps nothing.
type keeper struct {
	conversation

	service  *Service
	held     *admission
	recorder stored.Recorder
	// id is the identifier of the response; empty if it is not stored.
	id string
}

// keeper returns the keeper of an answer: nil unless the caller speaks a protocol with stored answers through an edge, and has
// not asked that nothing be stored.
func (s *Service) keeper(held *admission, c conversation) *keeper {
	caller, req := held.record.Caller, c.req.Head()
	if s.config.Items == nil || !caller.Edge || storing(req.GetWire()) == nil || req.Store != nil && !req.GetStore() {
		return nil
	}
	k := &keeper{conversation: c, service: s, held: held}
	if c.background != nil {
		k.recorder = c.background.recorder
	}
	return k
}

// name returns the identifier of a response that is to be stored, by its request; empty if it is not. What the upstream calls an
// answer may name another one as well: Ollama has 999 names.
func (k *keeper) name() string {
	if k.background != nil {
		k.id = k.background.ID
		return k.id
	}
	req := k.req.Head()
	if req.GetCompact() || !k.service.config.Items.Takes(k.held.record.Caller.KeyID, len(req.GetWire().GetJson())) {
		return ""
	}
	k.id = k.service.config.NewID(storing(req.GetWire()).Stored().Prefix)
	return k.id
}

// answerTo is what an edge encodes the answer by. Names of tools depend on the tools, which a deferred request has in its
// body.
func answerTo(asked *deferred.Request) codec.Answer {
	message, err := asked.Whole()
	if err != nil {
		message = asked.Head()
	}
	return codec.Answer{Request: &codec.Request{GenerateTextRequest: message}}
}

// made notes that the upstream has stored its own answer, by which it may be continued and fetched.
func (k *keeper) made(id string) {
	if k != nil && strings.Trim(id, ".") != "" && !k.req.Head().GetCompact() {
		k.service.config.Items.KeepMade(k.held.entry, k.held.record.Caller.KeyID, id, k.held.record.Account)
	}
}

// unary keeps a unary answer, unless it is the upstream's own body.
func (k *keeper) unary(resp *genwayv1.GenerateTextResponse) {
	if k == nil || resp.GetWire() != nil {
		return
	}
	if id := k.name(); id != "" {
		resp.Id, resp.Stored, resp.CompleteTime = id, true, timestamppb.New(k.service.config.Clock())
		resp.CreateTime = cmp.Or(k.created, resp.CreateTime)
	}
	shown := codec.Shared(resp)
	shown.Usage = codec.ShownUsage(resp.GetUsage())
	to := answerTo(k.asked)
	if k.background != nil {
		to.Losses = &k.background.losses
		k.lose(resp.GetLosses())
	}
	// An answer that cannot be encoded here cannot be encoded at the edge, which reports it.
	if body, err := storing(k.asked.Head().GetWire()).EncodeResponse(shown, to); err == nil {
		k.keep(body)
	}
}

// lose notes what an answer in the background loses, for those who fetch it.
func (k *keeper) lose(losses []*genwayv1.Loss) {
	if k.background == nil {
		return
	}
	for _, l := range losses {
		k.background.losses.Add(l.GetMember(), l.GetReason())
	}
}

// named returns lost members by the caller's names, each once.
func (k *keeper) named(losses []*genwayv1.Loss) []string {
	asked := k.asked.Head()
	return protocol.Of(k.held.record.Caller.Protocol).Names(asked.GetWire().GetJson(), asked).Lost(losses)
}

// keep keeps what the body of the response has.
func (k *keeper) keep(body []byte) {
	keeper, key, form := k.service.config.Items, k.held.record.Caller.KeyID, storing(k.asked.Head().GetWire()).Stored()
	if k.id == "" {
		keeper.Keep(k.held.entry, key, form.ItemsOf(member.Value(body, form.Output)))
		return
	}
	turn := form.NewTurn(k.req.Head().GetWire().GetJson(), k.earlier, body, k.before)
	if b := k.background; b != nil {
		b.lost = k.named(b.losses.List())
		turn.Lost = b.lost
	}
	if keeper.KeepResponse(k.held.entry, key, k.id, turn, body) && k.background != nil {
		k.background.kept = body
	}
}

// started names the response of a stream.
func (k *keeper) started(s *genwayv1.TextStarted) {
	if k == nil {
		return
	}
	if id := k.name(); id != "" {
		s.Id, s.Stored = id, true
		s.CreateTime = cmp.Or(k.created, s.CreateTime)
	}
}

// add adds an event of a stream on its way to the caller, and keeps the answer at the last. It returns nil once there is nothing
// to keep.
func (k *keeper) add(ev *genwayv1.StreamGenerateTextResponse, last bool) *keeper {
	if k.recorder == nil {
		k.recorder = storing(k.asked.Head().GetWire()).NewRecorder(answerTo(k.asked))
	}
	frames, err := k.recorder.Add(ev)
	k.lose(ev.GetStarted().GetLosses())
	k.lose(ev.GetCompleted().GetLosses())
	switch {
	case err != nil:
		return nil
	case last:
		k.keep(k.recorder.Body())
		return nil
	case k.background != nil:
		k.background.feed.add(frames)
	}
	return k
}

// maxShownID bounds what an error repeats of an identifier, in bytes.
const maxShownID = 100

// stored runs a call about a response that is stored.
func (s *Service) stored(ctx context.Context, method, id string, do func(ctx context.Context, keyID string) error) error {
	if id == "" {
		return fault.Missing("id")
	}
	ctx, record := begin(ctx, method, "")
	return s.visit(ctx, method, func(*keys.Policy) error {
		if s.config.Items == nil {
			return fault.New(fault.NotFound, ReasonResponsesNotStored, "this is not offered by this server: it does not store answers; send the whole conversation with each request")
		}
		var err error = &items.NotFoundError{ID: id}
		if !ofOther(record.Caller.Protocol, id) {
			err = do(ctx, record.Caller.KeyID)
		}
		if _, unknown := errors.AsType[*items.NotFoundError](err); unknown {
			shown := strings.ToValidUTF8(id[:min(len(id), maxShownID)], "\uFFFD")
			noun := "Response"
			if c := protocol.Of(record.Caller.Protocol).Stores(); c != nil {
				noun = c.Stored().Noun
			}
			return fault.New(fault.NotFound, stored.ReasonNotFound, "%s with id '%s' not found.", noun, keys.RedactIn(shown))
		}
		if _, ours := errors.AsType[*fault.Error](err); err != nil && !ours {
			return unavailable(ctx, err)
		}
		return err
	})
}

// elsewhere asks the upstream that has stored a response of the key, if the error says that Genway has not, and returns what that
// says.
func (s *Service) elsewhere(ctx context.Context, id items.ResponseID, missing error, about upstream.Stored) ([]byte, error) {
	if _, unknown := errors.AsType[*items.NotFoundError](missing); !unknown {
		return nil, missing
	}
	account, known, err := s.config.Items.Made(ctx, id.KeyID, id.ID)
	if err != nil || !known {
		return nil, cmp.Or(err, missing)
	}
	router, ok := s.config.Upstream.(interface {
		Stored(ctx context.Context, account string, about upstream.Stored) ([]byte, bool, error)
	})
	if !ok {
		return nil, missing
	}
	about.ID, about.Protocol = id.ID, call.Of(ctx).Caller.Protocol
	body, known, err := router.Stored(ctx, account, about)
	if err == nil && !known {
		return nil, missing
	}
	return body, err
}

// shownElsewhere is a response that the upstream of the caller's protocol has stored.
func shownElsewhere(ctx context.Context, id string, body []byte) *genwayv1.GetResponseResponse {
	c := protocol.Of(call.Of(ctx).Caller.Protocol).Stores()
	return &genwayv1.GetResponseResponse{Response: shown(c, id, body), Status: c.Stored().Status(body)}
}

// GetResponse returns a response that is stored for the caller's key, here or at the upstream that made it.
func (s *Service) GetResponse(ctx context.Context, req *genwayv1.GetResponseRequest) (resp *genwayv1.GetResponseResponse, err error) {
	err = s.stored(ctx, "GetResponse", req.GetId(), func(ctx context.Context, keyID string) error {
		id := items.ResponseID{KeyID: keyID, ID: req.GetId()}
		now, err := s.current(ctx, id)
		if err != nil {
			body, err := s.elsewhere(ctx, id, err, upstream.Stored{Method: "GET"})
			if err == nil {
				resp = shownElsewhere(ctx, req.GetId(), body)
			}
			return err
		}
		resp = &genwayv1.GetResponseResponse{Response: shown(protocol.Stored(req.GetId()), req.GetId(), now.body), Status: now.status}
		resp.Response.Losses = append(resp.Response.Losses, lossesOf(now.lost)...)
		return nil
	})
	return resp, err
}

// lossesOf are the members that a response in the background has lost.
func lossesOf(lost []string) (losses []*genwayv1.Loss) {
	for _, name := range lost {
		losses = append(losses, &genwayv1.Loss{Member: name, Reason: "it was lost while the response was made in the background"})
	}
	return losses
}

// DeleteResponse deletes a response that is stored for the caller's key.
func (s *Service) DeleteResponse(ctx context.Context, req *genwayv1.DeleteResponseRequest) (resp *genwayv1.DeleteResponseResponse, err error) {
	err = s.stored(ctx, "DeleteResponse", req.GetId(), func(ctx context.Context, keyID string) error {
		resp = &genwayv1.DeleteResponseResponse{Id: req.GetId()}
		id := items.ResponseID{KeyID: keyID, ID: req.GetId()}
		err := s.config.Items.DeleteResponse(ctx, keyID, id.ID)
		if err == nil {
			s.runs.cancel(id)
			return nil
		}
		_, err = s.elsewhere(ctx, id, err, upstream.Stored{Method: "DELETE"})
		return err
	})
	if err != nil {
		return nil, err
	}
	return resp, nil
}

// defaultInputPage is how many items a page of an input has unless the request says it.
const defaultInputPage = 20

// ListInputItems lists the input of a response that is stored for the caller's key, a page at a time.
func (s *Service) ListInputItems(ctx context.Context, req *genwayv1.ListInputItemsRequest) (resp *genwayv1.ListInputItemsResponse, err error) {
	if n := req.GetPageSize(); n < 0 || n > codec.MaxInputPage {
		return nil, fault.Invalid("page_size", "page_size: expected at most %d, got %d", codec.MaxInputPage, n)
	}
	err = s.stored(ctx, "ListInputItems", req.GetId(), func(ctx context.Context, keyID string) error {
		turn, err := s.config.Items.Turn(ctx, keyID, req.GetId())
		if err == nil {
			resp, err = inputPage(responses.InputItems(turn, req.GetId()), req)
			return err
		}
		query := map[string]string{"limit": strconv.Itoa(int(cmp.Or(req.GetPageSize(), defaultInputPage))), "order": "desc"}
		if req.GetOldestFirst() {
			query["order"] = "asc"
		}
		if token := req.GetPageToken(); token != "" {
			query["after"] = token
		}
		body, err := s.elsewhere(ctx, items.ResponseID{KeyID: keyID, ID: req.GetId()}, err, upstream.Stored{Method: "GET", Verb: "/input_items", Query: query})
		if err == nil {
			resp = responses.InputPage(body)
		}
		return err
	})
	return resp, err
}

// inputPage returns the items after the one that the token names.
func inputPage(listed []*genwayv1.OpaquePart, req *genwayv1.ListInputItemsRequest) (*genwayv1.ListInputItemsResponse, error) {
	if !req.GetOldestFirst() {
		slices.Reverse(listed)
	}
	if token := req.GetPageToken(); token != "" {
		at := slices.IndexFunc(listed, func(item *genwayv1.OpaquePart) bool { return responses.ItemID(item) == token })
		if at < 0 {
			return nil, fault.Invalid("page_token", "page_token: expected the identifier of an item of the list")
		}
		listed = listed[at+1:]
	}
	resp := &genwayv1.ListInputItemsResponse{Items: listed}
	if size := int(cmp.Or(req.GetPageSize(), defaultInputPage)); len(listed) > size {
		resp.Items, resp.NextPageToken = listed[:size], responses.ItemID(listed[size-1])
	}
	return resp, nil
}
