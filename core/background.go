package core

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"strings"
	"sync"
	"time"

	"github.com/genway/genway/codec"
	"github.com/genway/genway/codec/fault"
	"github.com/genway/genway/codec/responses"
	"github.com/genway/genway/core/call"
	"github.com/genway/genway/core/items"
	genwayv1 "github.com/genway/genway/gen/genway/v1"
	"github.com/genway/genway/internal/arena"
	"github.com/genway/genway/protocol"
	"github.com/genway/genway/protocol/deferred"
	"google.golang.org/grpc"
	"google.golang.org/protobuf/types/known/timestamppb"
)

// Callers of the responses protocol may have a response made in the background: they get it at once, queued, and ask for it
// until it has ended. Genway runs it as a call of its own, which is admitted, recorded and settled like any other; upstreams
// see an ordinary request (docs/decisions/0014).

// Reasons of what cannot be done in the background.
const (
	ReasonBackgroundLimit = "BACKGROUND_LIMIT"
	ReasonCoreEnded       = "CORE_ENDED"
	ReasonNotBackground   = "NOT_IN_BACKGROUND"
	// ReasonResponseTooLarge is the reason of a request whose response is too large to be stored.
	ReasonResponseTooLarge = "RESPONSE_TOO_LARGE"
)

const (
	// maxBackgroundBytes bounds the bodies of the requests of all responses in the background together. One key may have half
	// of it.
	maxBackgroundBytes = 256 << 20
	// maxBackground is how long a response may run in the background.
	maxBackground = time.Hour
	// cancelPoll is how often a core looks for cancellations of its responses at other cores.
	cancelPoll = time.Second
	// storeWithin bounds the write that begins a response, and a look for cancellations.
	storeWithin = 5 * time.Second
)

// Why a response in the background is ended before its time.
var (
	errResponseCancelled = errors.New("core: the response was cancelled")
	errShutDown          = errors.New("core: the server is shutting down")
)

// runs are the responses in the background of one core.
type runs struct {
	service *Service

	mu      sync.Mutex
	running map[items.ResponseID]*run
	keys    map[string]share // by the identifier of the key
	bytes   int
	closed  bool
	wait    sync.WaitGroup
	// watched means that a goroutine, for which watching waits, looks for cancellations until stopped is closed.
	watched  bool
	watching sync.WaitGroup
	stopped  chan struct{}
}

// share is what one key has in the background.
type share struct{ count, bytes int }

// run is a response in the background.
type run struct {
	items.ResponseID

	bytes  int
	cancel context.CancelCauseFunc
}

// begin takes a place for a run, which end gives back.
func (r *runs) begin(one *run) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	of, most := r.keys[one.KeyID], r.service.config.Background
	switch {
	case r.closed:
		f := fault.New(fault.Unavailable, fault.ReasonShuttingDown, "the server is shutting down; try again")
		f.RetryAfter = time.Second
		return f
	case of.count >= most:
		return crowdedBackground("background: this key has %d responses that have not ended, which is the maximum; wait for one to end or cancel one", of.count)
	case of.bytes+one.bytes > maxBackgroundBytes/2 || r.bytes+one.bytes > maxBackgroundBytes:
		return crowdedBackground("background: the requests of the responses that have not ended take too much memory; wait for one to end or cancel one")
	}
	if r.running == nil {
		r.running, r.keys = map[items.ResponseID]*run{}, map[string]share{}
	}
	r.running[one.ResponseID] = one
	r.keys[one.KeyID] = share{of.count + 1, of.bytes + one.bytes}
	r.bytes += one.bytes
	r.wait.Add(1)
	if !r.watched {
		r.watched = true
		r.watching.Go(r.watch)
	}
	return nil
}

func crowdedBackground(format string, args ...any) error {
	f := fault.New(fault.RateLimited, ReasonBackgroundLimit, format, args...)
	f.Param, f.RetryAfter = "background", time.Second
	return f
}

func (r *runs) end(one *run) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.running, one.ResponseID)
	r.bytes -= one.bytes
	if of := r.keys[one.KeyID]; of.count > 1 {
		r.keys[one.KeyID] = share{of.count - 1, of.bytes - one.bytes}
	} else {
		delete(r.keys, one.KeyID)
	}
	r.wait.Done()
}

// has reports whether a response runs here.
func (r *runs) has(id items.ResponseID) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.running[id] != nil
}

// cancel ends a response that runs here.
func (r *runs) cancel(id items.ResponseID) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if one := r.running[id]; one != nil {
		one.cancel(errResponseCancelled)
	}
}

// watch ends responses that were cancelled at another core, until none runs.
func (r *runs) watch() {
	tick := time.NewTicker(cancelPoll)
	defer tick.Stop()
	for {
		select {
		case <-r.stopped:
			return
		case <-tick.C:
		}
		r.mu.Lock()
		ids := make([]items.ResponseID, 0, len(r.running))
		for id := range r.running {
			ids = append(ids, id)
		}
		if len(ids) == 0 {
			r.watched = false
			r.mu.Unlock()
			return
		}
		r.mu.Unlock()
		ctx, cancel := context.WithTimeout(context.Background(), storeWithin)
		cancelled, err := r.service.config.Items.Cancelled(ctx, ids)
		cancel()
		if err != nil {
			continue // the keeper has counted it; the next look may succeed
		}
		for _, id := range cancelled {
			r.cancel(id)
		}
	}
}

// Drain waits for the responses in the background, and ends those that are left when ctx ends. None begins after that. It
// returns when all are settled.
func (s *Service) Drain(ctx context.Context) {
	r := &s.runs
	r.mu.Lock()
	first := !r.closed
	r.closed = true
	r.mu.Unlock()
	stop := context.AfterFunc(ctx, func() {
		r.mu.Lock()
		defer r.mu.Unlock()
		for _, one := range r.running {
			one.cancel(errShutDown)
		}
	})
	defer stop()
	r.wait.Wait()
	if first {
		close(r.stopped)
	}
	r.watching.Wait()
}

// isBackground reports whether an edge's caller asks for a response in the background. Upstreams refuse what direct callers ask.
func isBackground(req *genwayv1.GenerateTextRequest) bool {
	return req.GetWire() != nil && responses.Background(req)
}

// background begins the response to a request in the background, and returns it as it is then. Errors are those of the
// request and of its admission.
func (s *Service) background(ctx context.Context, by *call.Record, req *genwayv1.GenerateTextRequest) (*genwayv1.GenerateTextResponse, error) {
	if err := s.takesBackground(by, req); err != nil {
		return nil, err
	}
	id := items.ResponseID{KeyID: by.Caller.KeyID, ID: s.config.NewID(responses.PrefixStored)}
	one := &run{ResponseID: id, bytes: len(req.GetWire().GetJson())}
	lasting, cancel := context.WithCancelCause(arena.Without(context.WithoutCancel(ctx)))
	one.cancel = cancel
	if err := s.runs.begin(one); err != nil {
		cancel(nil)
		return nil, err
	}
	b := &backgroundCall{run: one, record: by.Detached(), begun: make(chan []byte, 1), ended: make(chan error, 1)}
	var err error
	if b.conversation, err = s.detached(ctx, by, req); err != nil {
		cancel(nil)
		s.runs.end(one)
		return nil, err
	}
	go s.runBackground(lasting, b)
	select {
	case body := <-b.begun:
		return queued(one.ID, b.conversation, body)
	case err := <-b.ended:
		select {
		case body := <-b.begun: // it has begun and ended
			return queued(one.ID, b.conversation, body)
		default:
			return nil, err
		}
	}
}

// takesBackground refuses a request whose response cannot be made in the background.
func (s *Service) takesBackground(by *call.Record, req *genwayv1.GenerateTextRequest) error {
	switch {
	case s.config.Items == nil || s.config.Background == 0 || !by.Caller.Edge:
		return fault.Invalid("background", "background: must be false; this server does not run responses in the background")
	case req.Store != nil && !req.GetStore():
		return fault.Invalid("background", "background: requires store to be true, since the response is fetched later")
	case !s.config.Items.Takes(by.Caller.KeyID, len(req.GetWire().GetJson())):
		f := fault.New(fault.TooLarge, ReasonResponseTooLarge, "background: the request is too large for its response to be stored, or this key has as much stored as it may")
		f.Param = "background"
		return f
	}
	return nil
}

// queued is what the caller gets at once.
func queued(id string, c *conversation, body []byte) (*genwayv1.GenerateTextResponse, error) {
	body, err := responses.Queued(body)
	return &genwayv1.GenerateTextResponse{
		Id: id, Model: c.asked.Head().GetModel(), CreateTime: c.created, Stored: true,
		Wire: bodyOf(body),
	}, err
}

// bodyOf is the body of a response for its callers.
func bodyOf(body []byte) *genwayv1.WireMessage {
	return &genwayv1.WireMessage{Protocol: genwayv1.Protocol_PROTOCOL_RESPONSES, Json: body}
}

// detached returns what a request continues, without the memory of the caller's call, which ends first.
func (s *Service) detached(ctx context.Context, by *call.Record, req *genwayv1.GenerateTextRequest) (*conversation, error) {
	own := codec.Shared(req)
	own.Model, own.Wire = strings.Clone(req.GetModel()), codec.Shared(req.GetWire())
	asked, err := rewritten(own, append([]byte(nil), req.GetWire().GetJson()...))
	if err != nil {
		return nil, err
	}
	c, err := s.continued(ctx, by, asked.Head())
	if err != nil {
		return nil, err
	}
	body, err := responses.Codec{}.Foreground(c.req.Head().GetWire().GetJson())
	if err != nil {
		return nil, err
	}
	c.req, err = rewritten(c.req.Head(), body)
	c.created = timestamppb.New(s.config.Clock())
	return c, err
}

// backgroundCall is the call of a response in the background.
type backgroundCall struct {
	*run
	*conversation

	record *call.Record
	// begun has the body of the response once it is admitted and stored, and ended what became of it.
	begun chan []byte
	ended chan error
}

// runBackground runs a response to its settlement. ctx has the values of the caller's call, to which the admission belongs.
func (s *Service) runBackground(ctx context.Context, b *backgroundCall) {
	defer s.runs.end(b.run)
	ctx, stop := context.WithTimeout(call.With(ctx, b.record), maxBackground)
	defer stop()
	b.id = b.ID
	err := s.account(ctx, b.record, textRequest{b.req}, func(ctx context.Context, held *admission) error {
		// The caller's call ends when the response has begun: it takes no headers after that.
		return s.answerInBackground(grpc.NewContextWithServerTransportStream(ctx, nil), held, b)
	})
	b.cancel(nil)
	b.ended <- err
	if b.record.Admitted {
		logCall(ctx, s.config.Logger, b.record, time.Now(), err)
	}
}

// answerInBackground stores the response as it begins, and as it ends.
func (s *Service) answerInBackground(ctx context.Context, held *admission, b *backgroundCall) (err error) {
	k := &keeper{conversation: b.conversation, service: s, held: held, id: b.ID}
	recorder := responses.NewRecorder(k.answerTo())
	if err := recorder.Add(&genwayv1.StreamGenerateTextResponse{Payload: &genwayv1.StreamGenerateTextResponse_Started{Started: &genwayv1.TextStarted{
		Id: b.ID, Model: b.asked.Head().GetModel(), CreateTime: b.created, Stored: true,
	}}}); err != nil {
		return err
	}
	process, _ := held.entry.ID()
	turn := responses.NewTurn(b.req.Head().GetWire().GetJson(), b.earlier, recorder.Body(), b.before)
	writing, written := context.WithTimeout(ctx, storeWithin)
	err = s.config.Items.Begin(writing, b.ResponseID, turn, recorder.Body(), process)
	written()
	if err != nil {
		f := fault.Wrap(err, fault.Unavailable, ReasonItemsUnavailable, "the response cannot be stored at the moment; try again")
		f.RetryAfter = time.Second
		return f
	}
	b.begun <- recorder.Body()
	defer func() {
		if p := recover(); p != nil {
			s.config.Logger.Error("panic in a response in the background", "request_id", b.record.ID, "panic", fmt.Sprint(p), "stack", string(debug.Stack()))
			err = fault.New(fault.Internal, fault.ReasonPanic, "%s", fault.InternalMessage)
		}
		if err != nil && !errors.Is(context.Cause(ctx), errResponseCancelled) {
			k.keep(recorder.Fail(b.failure(ctx, err)))
		}
	}()
	_, err = s.generateText(ctx, held, b.conversation)
	if err == nil && b.tooLarge { // it is paid for, and cannot be fetched
		k.keep(recorder.Fail(fault.New(fault.TooLarge, ReasonResponseTooLarge, "the response is too large to be stored")))
	}
	return err
}

// failure is what a response has as its error, by the caller's names of members.
func (b *backgroundCall) failure(ctx context.Context, err error) *fault.Error {
	if errors.Is(context.Cause(ctx), errShutDown) {
		return fault.New(fault.Unavailable, fault.ReasonShuttingDown, "the server was shut down before the response was complete")
	}
	f := *fault.From(err)
	f.Bound()
	f.Wire = nil
	asked := b.asked.Head()
	protocol.Of(b.record.Caller.Protocol).Names(asked.GetWire().GetJson(), asked).Fault(&f)
	return &f
}

// withoutWire returns a request as upstreams get it in the background: they translate it, so that its answer can be stored.
func (c *conversation) withoutWire(req *deferred.Request) (*deferred.Request, error) {
	if c.id == "" {
		return req, nil
	}
	message, err := req.Whole()
	if err != nil {
		return nil, err
	}
	message = codec.Shared(message)
	message.Wire = nil
	return deferred.New(message), nil
}

// current returns the body of a stored response as it is now, and what it has lost: one in the background may have been cancelled, or its core may
// have ended.
func (s *Service) current(ctx context.Context, id items.ResponseID) (body []byte, lost []string, err error) {
	body, turn, err := s.config.Items.Response(ctx, id.KeyID, id.ID)
	if err != nil || !responses.InBackground(body) {
		return body, nil, err
	}
	state, err := s.config.Items.State(ctx, id)
	switch {
	case err != nil:
		return nil, nil, err
	case state.Cancelled:
		body, err = responses.Cancelled(body)
		return body, nil, err
	case responses.Status(body) != genwayv1.ResponseStatus_RESPONSE_STATUS_IN_PROGRESS || s.runs.has(id):
		return body, turn.Lost, nil
	}
	if alive, err := s.config.Ledger.AliveElsewhere(ctx, state.Process); err != nil || alive {
		return body, nil, err
	}
	// It may have ended since its body was read.
	if body, turn, err = s.config.Items.Response(ctx, id.KeyID, id.ID); err != nil {
		return nil, nil, err
	}
	if responses.Status(body) != genwayv1.ResponseStatus_RESPONSE_STATUS_IN_PROGRESS {
		return body, turn.Lost, nil
	}
	body, err = responses.Failed(body, fault.New(fault.Internal, ReasonCoreEnded, "the response was not completed: the server that ran it has ended"))
	return body, nil, err
}

// CancelResponse ends a response in the background that the caller's key has made.
func (s *Service) CancelResponse(ctx context.Context, req *genwayv1.CancelResponseRequest) (resp *genwayv1.CancelResponseResponse, err error) {
	err = s.stored(ctx, "CancelResponse", req.GetId(), func(ctx context.Context, keyID string) error {
		id := items.ResponseID{KeyID: keyID, ID: req.GetId()}
		body, _, err := s.current(ctx, id)
		if err != nil {
			return err
		}
		if !responses.InBackground(body) {
			return fault.New(fault.InvalidRequest, ReasonNotBackground, "Cannot cancel a synchronous response: only responses that were created with background=true can be cancelled.")
		}
		if responses.Status(body) == genwayv1.ResponseStatus_RESPONSE_STATUS_IN_PROGRESS {
			if err := s.config.Items.Cancel(ctx, id); err != nil {
				return err
			}
			s.runs.cancel(id)
			if body, err = responses.Cancelled(body); err != nil {
				return err
			}
		}
		resp = &genwayv1.CancelResponseResponse{Response: shown(id.ID, body), Status: responses.Status(body)}
		return nil
	})
	return resp, err
}

// shown is a stored response as the contract has it: without candidates unless it is complete.
func shown(id string, body []byte) *genwayv1.GenerateTextResponse {
	answer, err := responses.Codec{}.DecodeResponse(body)
	if err != nil {
		answer = &genwayv1.GenerateTextResponse{Id: id}
	}
	answer.Stored, answer.Wire = true, bodyOf(body)
	return answer
}
