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
	"github.com/genway/genway/codec/stored"
	"github.com/genway/genway/core/call"
	"github.com/genway/genway/core/items"
	"github.com/genway/genway/core/upstream"
	genwayv1 "github.com/genway/genway/gen/genway/v1"
	"github.com/genway/genway/internal/arena"
	"github.com/genway/genway/protocol"
	"github.com/genway/genway/protocol/deferred"
	"google.golang.org/grpc"
	"google.golang.org/protobuf/types/known/timestamppb"
)

// Callers of protocols whose responses are stored may have one made in the background: they get it at once, queued, and ask for it
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
	// followers are how many calls of a key follow responses.
	followers map[string]int
	closed    bool
	draining  chan struct{} // closed with it
	wait      sync.WaitGroup
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
	// feed has its events; nil if it is not streamed.
	feed *feed
}

// begin takes a place for a run, which end gives back.
func (r *runs) begin(one *run) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	of, most := r.keys[one.KeyID], r.service.config.Background
	switch {
	case r.closed:
		return shuttingDown()
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

func shuttingDown() error {
	f := fault.New(fault.Unavailable, fault.ReasonShuttingDown, "the server is shutting down; try again")
	f.RetryAfter = time.Second
	return f
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

// join takes a place for a call of a key that follows a response, which leave gives back.
func (r *runs) join(keyID string) (leave func(), err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.followers[keyID] >= maxFollowers {
		f := fault.New(fault.RateLimited, ReasonFollowersLimit, "stream: this key follows %d responses at once, which is the maximum; end one of these calls", maxFollowers)
		f.Param, f.RetryAfter = "stream", time.Second
		return nil, f
	}
	if r.followers == nil {
		r.followers = map[string]int{}
	}
	r.followers[keyID]++
	return func() {
		r.mu.Lock()
		defer r.mu.Unlock()
		if r.followers[keyID]--; r.followers[keyID] == 0 {
			delete(r.followers, keyID)
		}
	}, nil
}

// feed returns the events of a response that runs here; nil if it does not, or is not streamed.
func (r *runs) feed(id items.ResponseID) *feed {
	r.mu.Lock()
	defer r.mu.Unlock()
	if one := r.running[id]; one != nil {
		return one.feed
	}
	return nil
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
	if r.closed = true; first {
		close(r.draining)
	}
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
	c := storing(req.GetWire())
	return c != nil && c.Stored().Background(req)
}

// background begins the response to a request in the background, and returns it with its body as it is then. Errors are those of
// the request and of its admission.
func (s *Service) background(ctx context.Context, by *call.Record, req *genwayv1.GenerateTextRequest, streamed bool) (*backgroundCall, []byte, error) {
	if err := s.takesBackground(by, req); err != nil {
		return nil, nil, err
	}
	id := items.ResponseID{KeyID: by.Caller.KeyID, ID: s.config.NewID(storing(req.GetWire()).Stored().Prefix)}
	one := &run{ResponseID: id, bytes: len(req.GetWire().GetJson())}
	if streamed {
		one.feed = newFeed(s.config.Items, id, req.GetWire().GetProtocol())
	}
	lasting, cancel := context.WithCancelCause(arena.Without(context.WithoutCancel(ctx)))
	one.cancel = cancel
	if err := s.runs.begin(one); err != nil {
		cancel(nil)
		return nil, nil, err
	}
	b := &backgroundCall{run: one, begun: make(chan []byte, 1), ended: make(chan error, 1)}
	var err error
	if b.conversation, err = s.detached(ctx, by, req); err != nil {
		cancel(nil)
		s.runs.end(one)
		return nil, nil, err
	}
	b.background, b.record = b, by.Detached()
	go s.runBackground(lasting, b)
	select {
	case body := <-b.begun:
		return b, body, nil
	case err := <-b.ended:
		select {
		case body := <-b.begun: // it has begun and ended
			return b, body, nil
		default:
			return nil, nil, err
		}
	}
}

// queueText begins a response, and returns it as queued.
func (s *Service) queueText(ctx context.Context, by *call.Record, req *genwayv1.GenerateTextRequest) (*genwayv1.GenerateTextResponse, error) {
	b, body, err := s.background(ctx, by, req, false)
	if err == nil {
		body, err = formOf(b.ID).AsQueued(body)
	}
	if err != nil {
		return nil, err
	}
	return &genwayv1.GenerateTextResponse{
		Id: b.ID, Model: b.asked.Head().GetModel(), CreateTime: b.created, Stored: true,
		Wire: &genwayv1.WireMessage{Protocol: formOf(b.ID).Protocol, Json: body},
	}, nil
}

// streamQueued begins a response, and sends its events for as long as the caller listens.
func (s *Service) streamQueued(ctx context.Context, by *call.Record, req *genwayv1.GenerateTextRequest, send func(*genwayv1.StreamGenerateTextResponse) error) error {
	leave, err := s.runs.join(by.Caller.KeyID)
	if err != nil {
		return err
	}
	defer leave()
	b, _, err := s.background(ctx, by, req, true)
	if err != nil {
		return err
	}
	return (&follower{service: s, id: b.ResponseID, send: send}).follow(ctx, b.feed)
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

// detached returns what a request continues, without the memory of the caller's call, which ends first.
func (s *Service) detached(ctx context.Context, by *call.Record, req *genwayv1.GenerateTextRequest) (conversation, error) {
	own := codec.Shared(req)
	own.Model, own.Wire = strings.Clone(req.GetModel()), codec.Shared(req.GetWire())
	own.Wire.Extension = nil // no edge gets its events in batches
	asked, err := rewritten(own, append([]byte(nil), req.GetWire().GetJson()...))
	if err != nil {
		return conversation{}, err
	}
	c, err := s.continued(ctx, by, asked.Head())
	if err == nil && c.unknown != "" {
		err = storing(req.GetWire()).Stored().PreviousNotFound(c.unknown)
	}
	if err != nil {
		return conversation{}, err
	}
	body, err := storing(req.GetWire()).Stored().Foreground(c.req.Head().GetWire().GetJson())
	if err != nil {
		return conversation{}, err
	}
	c.req, err = rewritten(c.req.Head(), body)
	c.created = timestamppb.New(s.config.Clock())
	return c, err
}

// backgroundCall is the call of a response in the background.
type backgroundCall struct {
	*run
	conversation

	record *call.Record
	// begun has the body of the response once it is admitted and stored, and ended what became of it.
	begun chan []byte
	ended chan error
	// recorder makes the events of the response, also the first, and kept is its body as it is stored when it has ended.
	recorder stored.Recorder
	kept     []byte
	// losses are what it has lost on its way, and lost their members by the caller's names (stored.Turn).
	losses codec.Losses
	lost   []string
}

// runBackground runs a response to its settlement. ctx has the values of the caller's call, to which the admission belongs.
func (s *Service) runBackground(ctx context.Context, b *backgroundCall) {
	defer s.runs.end(b.run)
	ctx, stop := context.WithTimeout(call.With(ctx, b.record), maxBackground)
	defer stop()
	err := s.account(ctx, b.record, textRequest{b.req}, func(ctx context.Context, held *admission) error {
		// The caller's call ends when the response has begun: it takes no headers after that.
		return s.answerInBackground(grpc.NewContextWithServerTransportStream(ctx, nil), held, b)
	})
	b.cancel(nil)
	if b.kept != nil { // it has begun
		b.feed.end(b.kept, lossesOf(b.lost))
	}
	b.ended <- err
	if b.record.Admitted {
		logCall(ctx, s.config.Logger, b.record, time.Now(), err)
	}
}

// answerInBackground stores the response as it begins, and as it ends.
func (s *Service) answerInBackground(ctx context.Context, held *admission, b *backgroundCall) (err error) {
	to := answerTo(b.asked)
	to.Losses = &b.losses
	b.recorder = protocol.Stored(b.ID).NewRecorder(to)
	frames, err := b.recorder.Add(codec.Event(&genwayv1.TextStarted{Id: b.ID, Model: b.asked.Head().GetModel(), CreateTime: b.created, Stored: true}))
	if err != nil {
		return err
	}
	body := b.recorder.Body()
	process, _ := held.entry.ID()
	turn := formOf(b.ID).NewTurn(b.req.Head().GetWire().GetJson(), b.earlier, body, b.before)
	writing, written := context.WithTimeout(ctx, storeWithin)
	err = s.config.Items.Begin(writing, b.ResponseID, turn, body, process)
	written()
	if err != nil {
		f := fault.Wrap(err, fault.Unavailable, ReasonItemsUnavailable, "the response cannot be stored at the moment; try again")
		f.RetryAfter = time.Second
		return f
	}
	b.feed.add(frames)
	b.begun <- body
	defer func() {
		if p := recover(); p != nil {
			s.config.Logger.Error("panic in a response in the background", "request_id", b.record.ID, "panic", fmt.Sprint(p), "stack", string(debug.Stack()))
			err = fault.New(fault.Internal, fault.ReasonPanic, "%s", fault.InternalMessage)
		}
		switch {
		case err == nil && b.kept != nil:
		case errors.Is(context.Cause(ctx), errResponseCancelled):
			b.kept, _ = formOf(b.ID).AsCancelled(body)
		case err == nil: // it is paid for, and cannot be fetched
			b.fail(held, body, fault.New(fault.TooLarge, ReasonResponseTooLarge, "the response is too large to be stored"))
		default:
			b.fail(held, body, b.failure(ctx, err))
		}
	}()
	if b.feed == nil {
		_, err = s.generateText(ctx, held, b.conversation)
		return err
	}
	return s.streamText(ctx, held, b.conversation, nowhere{})
}

// nowhere is the stream of a response whose events go to its feed.
type nowhere struct {
	grpc.ServerStreamingServer[genwayv1.StreamGenerateTextResponse]
}

func (nowhere) Send(*genwayv1.StreamGenerateTextResponse) error { return nil }

// fail stores a response as failed, of which body is the beginning.
func (b *backgroundCall) fail(held *admission, body []byte, err *fault.Error) {
	if failed, patch := formOf(b.ID).AsFailed(body, err); patch == nil {
		k := &keeper{conversation: b.conversation, service: held.service, held: held, id: b.ID}
		k.keep(failed)
		b.kept = failed
	}
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

// resolved sets the request with the items that it refers to, also for what is stored of it in the background.
func (c *conversation) resolved(req *deferred.Request) {
	c.req = req
	if c.background != nil {
		c.background.req = req
	}
}

// withoutWire returns a request as upstreams get it in the background: they translate it, so that its answer can be stored.
func (c *conversation) withoutWire(req *deferred.Request) (*deferred.Request, error) {
	if c.background == nil {
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

// storedResponse is a response as it is at some time.
type storedResponse struct {
	body   []byte
	status genwayv1.ResponseStatus
	// background says that it was created with background: true, and lost what it has lost then (stored.Turn).
	background bool
	lost       []string
}

func (r *storedResponse) inProgress() bool {
	return r.status == genwayv1.ResponseStatus_RESPONSE_STATUS_IN_PROGRESS
}

func storedAs(id items.ResponseID, body []byte, lost []string) *storedResponse {
	form := formOf(id.ID)
	return &storedResponse{body: body, status: form.Status(body), background: stored.InBackground(body), lost: lost}
}

// current returns a stored response as it is now: one in the background may have been cancelled, or its core may have ended.
func (s *Service) current(ctx context.Context, id items.ResponseID) (*storedResponse, error) {
	// One that has not ended has no output, so that its input need not be read either.
	frame, err := s.config.Items.Frame(ctx, id)
	if err != nil {
		return nil, err
	}
	now, state := storedAs(id, frame, nil), items.State{}
	if now.background {
		if state, err = s.config.Items.State(ctx, id); err != nil {
			return nil, err
		}
	}
	if now.inProgress() && !state.Cancelled {
		if s.runs.has(id) {
			return now, nil
		}
		if alive, err := s.config.Ledger.AliveElsewhere(ctx, state.Process); err != nil || alive {
			return now, err
		}
	}
	// It may have ended since its frame was read.
	body, turn, err := s.config.Items.Response(ctx, id.KeyID, id.ID)
	if err != nil {
		return nil, err
	}
	switch now = storedAs(id, body, turn.Lost); {
	case state.Cancelled:
		body, err = formOf(id.ID).AsCancelled(body)
	case now.inProgress():
		body, err = formOf(id.ID).AsFailed(body, fault.New(fault.Internal, ReasonCoreEnded, "the response was not completed: the server that ran it has ended"))
	default:
		return now, nil
	}
	return storedAs(id, body, nil), err
}

// CancelResponse ends a response in the background that the caller's key has made.
func (s *Service) CancelResponse(ctx context.Context, req *genwayv1.CancelResponseRequest) (resp *genwayv1.CancelResponseResponse, err error) {
	err = s.stored(ctx, "CancelResponse", req.GetId(), func(ctx context.Context, keyID string) error {
		id := items.ResponseID{KeyID: keyID, ID: req.GetId()}
		now, err := s.current(ctx, id)
		if err != nil {
			body, err := s.elsewhere(ctx, id, err, upstream.Stored{Method: "POST", Verb: "/cancel"})
			if err == nil {
				one := shownElsewhere(ctx, id.ID, body)
				resp = &genwayv1.CancelResponseResponse{Response: one.Response, Status: one.Status}
			}
			return err
		}
		if !now.background {
			return fault.New(fault.InvalidRequest, ReasonNotBackground, "Cannot cancel a synchronous response: only responses that were created with background=true can be cancelled.")
		}
		if now.inProgress() {
			if err := s.config.Items.Cancel(ctx, id); err != nil {
				return err
			}
			s.runs.cancel(id)
			body, err := formOf(id.ID).AsCancelled(now.body)
			if err != nil {
				return err
			}
			now = storedAs(id, body, nil)
		}
		resp = &genwayv1.CancelResponseResponse{Response: shown(protocol.Stored(id.ID), id.ID, now.body), Status: now.status}
		return nil
	})
	return resp, err
}

// shown is a stored response of a protocol as the contract has it: without candidates unless it is complete.
func shown(c stored.Codec, id string, body []byte) *genwayv1.GenerateTextResponse {
	answer, err := c.DecodeResponse(body)
	if err != nil {
		answer = &genwayv1.GenerateTextResponse{Id: id}
	}
	answer.Stored, answer.Wire = true, &genwayv1.WireMessage{Protocol: c.Stored().Protocol, Json: body}
	return answer
}
