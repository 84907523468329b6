package core

import (
	"bytes"
	"compress/flate"
	"context"
	"encoding/binary"
	"errors"
	"io"
	"math"
	"sync"
	"time"

	"github.com/genway/genway/codec"
	"github.com/genway/genway/codec/fault"
	"github.com/genway/genway/core/items"
	"github.com/genway/genway/core/upstream"
	genwayv1 "github.com/genway/genway/gen/genway/v1"
	"github.com/genway/genway/internal/transport"
	"github.com/genway/genway/protocol"
	"google.golang.org/grpc"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"
)

// The events of a response in the background that is streamed are those of its caller's protocol, as frames. They are numbered
// from 0, and stored in pieces while the response is made. A follower reads the pieces, and at the core that runs it
// the events of the next one as they come. The last event is made of the response itself, which is stored as any other.

const (
	// pieceBytes is how many bytes of events are stored as one piece, and pieceWait how long the first of them waits for others at
	// the beginning: with the pieces the wait grows to maxPieceWait, so that an hour has some 1,000.
	pieceBytes              = 64 << 10
	pieceWait, maxPieceWait = 250 * time.Millisecond, 4 * time.Second
	// maxEventBytes bounds what is stored of the events of one response, in bytes as they are stored. Those beyond it reach
	// the followers of that time; all others get the end.
	maxEventBytes = 8 << 20
	// A core looks for the events of a response that another one runs this often, and less often while there are none.
	followPoll, maxFollowPoll = 250 * time.Millisecond, 2 * time.Second
	// maxFollowers bounds how many calls of one key may follow responses at a core.
	maxFollowers = 100
)

// ReasonFollowersLimit is the reason of a call that is one too many to follow a response.
const ReasonFollowersLimit = "FOLLOWERS_LIMIT"

// feed has the events of a response that is made at this core. It stores them, and has those that are not stored yet.
type feed struct {
	keeper   *items.Keeper
	id       items.ResponseID
	protocol genwayv1.Protocol

	mu sync.Mutex
	// piece is the number of the next piece, first that of its first event, and events are those so far, of size bytes.
	piece  int
	first  int64
	events []*genwayv1.StreamGenerateTextResponse
	size   int
	stored int // bytes
	// lost means that no more pieces are stored.
	lost bool
	// ended means that no more events come.
	ended   bool
	losses  []*genwayv1.Loss
	changed chan struct{} // closed when there are more events, or the end
	timer   *time.Timer
}

func newFeed(keeper *items.Keeper, id items.ResponseID, of genwayv1.Protocol) *feed {
	return &feed{keeper: keeper, id: id, protocol: of, changed: make(chan struct{})}
}

// add adds frames, which it copies.
func (f *feed) add(frames []codec.Frame) {
	if f == nil || len(frames) == 0 {
		return
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if len(f.events) == 0 {
		f.timer = time.AfterFunc(min(pieceWait+pieceWait*time.Duration(f.piece)/16, maxPieceWait), f.store)
	}
	for _, frame := range frames {
		f.events = append(f.events, event(f.protocol, codec.Frame{Event: frame.Event, Data: bytes.Clone(frame.Data)}))
		f.size += len(frame.Data)
	}
	f.notify()
	if f.size >= pieceBytes {
		f.cut(false)
	}
}

func (f *feed) notify() {
	close(f.changed)
	f.changed = make(chan struct{})
}

// store stores what has waited for long enough.
func (f *feed) store() {
	f.mu.Lock()
	defer f.mu.Unlock()
	if !f.ended && len(f.events) > 0 {
		f.cut(false)
	}
}

// cut stores the events so far as a piece. Those that follow are of the next.
func (f *feed) cut(last bool) {
	f.timer.Stop()
	if !f.lost {
		data := encodePiece(f.first, f.events, last)
		f.stored += len(data)
		f.lost = f.stored > maxEventBytes || !f.keeper.KeepEvents(f.id, f.piece, data)
	}
	if !last { // followers get the end from here
		f.piece, f.first, f.events, f.size = f.piece+1, f.first+int64(len(f.events)), nil, 0
	}
}

// end ends the events of a response with that body, which has lost those members on its way.
func (f *feed) end(body []byte, losses []*genwayv1.Loss) {
	if f == nil {
		return
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.cut(true) // without the event that ends them, which is made of the body
	if last, err := end(f.id.ID, body, f.first+int64(len(f.events))); err == nil {
		f.events = append(f.events, last)
	}
	f.ended, f.losses = true, losses
	f.notify()
}

// piece is some of the events of a response.
type piece struct {
	number int   // of the piece
	first  int64 // the number of the first event
	events []*genwayv1.StreamGenerateTextResponse
	// last means that none follows but the one that ends the stream.
	last bool
}

// unstored is what a feed has beside what is stored: the events of the next piece, which is the last if the response has ended.
type unstored struct {
	piece

	// lost means that not all events before them are stored.
	lost bool
	// losses are the members that the response has lost, once it has ended.
	losses []*genwayv1.Loss
}

// state returns what is not stored yet, and a channel that is closed when that changes.
func (f *feed) state() (unstored, <-chan struct{}) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return unstored{piece{f.piece, f.first, f.events, f.ended}, f.lost, f.losses}, f.changed
}

var deflaters = sync.Pool{New: func() any {
	w, _ := flate.NewWriter(nil, flate.BestSpeed)
	return w
}}

// encodePiece writes a piece as it is stored, deflated: whether it is the last, the number of its first event, and the events, each after its length.
func encodePiece(first int64, events []*genwayv1.StreamGenerateTextResponse, last bool) []byte {
	data := make([]byte, 1, 1024)
	if last {
		data[0] = 1
	}
	data = binary.AppendUvarint(data, uint64(first))
	for _, ev := range events {
		encoded, _ := proto.Marshal(ev) // a frame is JSON, of which no text is not UTF-8
		data = protowire.AppendBytes(data, encoded)
	}
	var out bytes.Buffer
	w, _ := deflaters.Get().(*flate.Writer)
	defer deflaters.Put(w)
	w.Reset(&out)
	_, _ = w.Write(data)
	_ = w.Close() // a buffer takes everything
	return out.Bytes()
}

var errPiece = errors.New("core: stored events cannot be read")

func decodePiece(stored []byte) (*piece, error) {
	data, err := io.ReadAll(flate.NewReader(bytes.NewReader(stored)))
	if err != nil || len(data) == 0 {
		return nil, errors.Join(errPiece, err)
	}
	first, n := binary.Uvarint(data[1:])
	if n <= 0 {
		return nil, errPiece
	}
	p := &piece{first: int64(first), last: data[0] != 0}
	for data = data[1+n:]; len(data) > 0; {
		ev := &genwayv1.StreamGenerateTextResponse{}
		if data, err = transport.NextEvent(data, ev); err != nil {
			return nil, errors.Join(errPiece, err)
		}
		p.events = append(p.events, ev)
	}
	return p, nil
}

// StreamResponse sends the events of a response that is stored for the caller's key.
func (s *Service) StreamResponse(req *genwayv1.StreamResponseRequest, stream grpc.ServerStreamingServer[genwayv1.StreamGenerateTextResponse]) error {
	after := int64(-1)
	if req.StartingAfter != nil {
		if after = req.GetStartingAfter(); after < 0 || after == math.MaxInt64 {
			return fault.Invalid("starting_after", "starting_after: expected the number of an event, got %d", after)
		}
	}
	return s.stored(stream.Context(), "StreamResponse", req.GetId(), func(ctx context.Context, keyID string) error {
		leave, err := s.runs.join(keyID)
		if err != nil {
			return err
		}
		defer leave()
		f := &follower{service: s, id: items.ResponseID{KeyID: keyID, ID: req.GetId()}, next: after + 1, send: stream.Send}
		f.begin = codec.Event(&genwayv1.TextStarted{Id: f.id.ID, Stored: true})
		err = f.follow(ctx, s.runs.feed(f.id))
		if _, unknown := errors.AsType[*items.NotFoundError](err); unknown {
			_, known, failed := s.config.Items.Made(ctx, keyID, f.id.ID)
			switch {
			case failed != nil:
				return unavailable(ctx, failed)
			case known:
				return fault.Invalid("stream", "stream: must be false; the upstream that made the response stores it, and its events cannot be followed through this server")
			}
		}
		return err
	})
}

// follower sends the events of a response to one caller, until its end.
type follower struct {
	service *Service
	id      items.ResponseID
	send    func(*genwayv1.StreamGenerateTextResponse) error
	// begin is sent before all others; nil once it is, or if there is none.
	begin *genwayv1.StreamGenerateTextResponse
	// next is the number of the event that is to be sent, and piece that of the piece that is to be read. Those before it have
	// read events.
	next  int64
	piece int
	read  int64
}

// follow sends what is there, and what comes. run has the events of a response that is made at this core; nil for others.
func (f *follower) follow(ctx context.Context, run *feed) error {
	for run != nil {
		now, changed := run.state()
		if f.piece < now.number && !now.lost { // the caller is slow, or began late
			p, err := f.stored(ctx)
			if err != nil {
				return err
			}
			if p == nil {
				break // it was deleted
			}
			if err := f.pass(p); err != nil {
				return err
			}
			f.piece++
			continue
		}
		if now.last && f.next < now.first {
			f.next = now.first + int64(len(now.events)) - 1 // some are lost: the end has all of the response
		}
		if f.next >= now.first {
			if err := f.pass(&now.piece); err != nil {
				return err
			}
			f.piece = now.number
		}
		if now.last {
			return f.complete(now.losses)
		}
		if err := f.wait(ctx, changed, maxBackground); err != nil {
			return err
		}
	}
	return f.followStored(ctx)
}

// followStored follows a response by what is stored of it.
func (f *follower) followStored(ctx context.Context) error {
	all, late := false, false
	for pause := followPoll; ; pause = min(2*pause, maxFollowPoll) {
		for !all {
			p, err := f.stored(ctx)
			if err != nil {
				return err
			}
			if p == nil {
				break
			}
			if err := f.pass(p); err != nil {
				return err
			}
			f.piece++
			all, pause = p.last, followPoll
		}
		now, err := f.service.current(ctx, f.id)
		if err != nil {
			return err
		}
		if !now.inProgress() {
			if all || late || !now.background {
				return f.finish(now.body, all, lossesOf(now.lost))
			}
			late = true // its last events may not be stored yet
		}
		if err := f.wait(ctx, f.service.runs.draining, pause); err != nil {
			return err
		}
		select {
		case <-f.service.runs.draining:
			return shuttingDown()
		default:
		}
	}
}

// wait waits until something has changed, or for a time.
func (f *follower) wait(ctx context.Context, changed <-chan struct{}, most time.Duration) error {
	if err := f.open(); err != nil {
		return err
	}
	timer := time.NewTimer(most)
	defer timer.Stop()
	select {
	case <-changed:
	case <-timer.C:
	case <-ctx.Done():
		return upstream.Interrupted(ctx)
	}
	return nil
}

// stored reads the next piece; nil if it is not stored.
func (f *follower) stored(ctx context.Context) (*piece, error) {
	data, err := f.service.config.Items.Events(ctx, f.id, f.piece)
	if err != nil || data == nil {
		return nil, err
	}
	return decodePiece(data)
}

func (f *follower) open() error {
	begin := f.begin
	if f.begin = nil; begin == nil {
		return nil
	}
	return f.send(begin)
}

// pass sends the events of a piece that were not sent before, and is done with it.
func (f *follower) pass(p *piece) error {
	for i, ev := range p.events {
		if p.first+int64(i) < f.next {
			continue
		}
		if err := f.open(); err != nil {
			return err
		}
		if err := f.send(ev); err != nil {
			return err
		}
		f.next = p.first + int64(i) + 1
	}
	f.read = p.first + int64(len(p.events))
	return nil
}

// finish ends the stream of a response with that body. all means that all its other events were read.
func (f *follower) finish(body []byte, all bool, losses []*genwayv1.Loss) error {
	p := &piece{first: f.read}
	switch f.piece {
	case 0: // none are stored
		var err error
		if p.events, err = replay(f.id.ID, body); err != nil {
			return err
		}
	default:
		if !all { // the caller may have seen events that were never stored
			p.first = max(f.read, f.next)
		}
		last, err := end(f.id.ID, body, p.first)
		if err != nil {
			return err
		}
		p.events = append(p.events, last)
	}
	if err := f.pass(p); err != nil {
		return err
	}
	return f.complete(losses)
}

// complete ends the stream when all events were passed.
func (f *follower) complete(losses []*genwayv1.Loss) error {
	if f.next > f.read {
		name := protocol.Of(formOf(f.id.ID).Protocol).ResumeQuery
		return fault.Invalid(name, "%s: the number of the last event is %d, got %d", name, f.read-1, f.next-1)
	}
	if err := f.open(); err != nil {
		return err
	}
	return f.send(codec.Event(&genwayv1.TextCompleted{Losses: losses}))
}

// end returns the event of that number, which ends the stream of a response.
func end(id string, body []byte, number int64) (*genwayv1.StreamGenerateTextResponse, error) {
	frame, err := protocol.Stored(id).End(body, number)
	return event(formOf(id).Protocol, frame), err
}

// replay returns the events that a response adds up to.
func replay(id string, body []byte) ([]*genwayv1.StreamGenerateTextResponse, error) {
	frames, err := protocol.Stored(id).Replay(body)
	events := make([]*genwayv1.StreamGenerateTextResponse, 0, len(frames))
	for _, frame := range frames {
		events = append(events, event(formOf(id).Protocol, frame))
	}
	return events, err
}

func event(of genwayv1.Protocol, frame codec.Frame) *genwayv1.StreamGenerateTextResponse {
	return codec.Event(&genwayv1.WireFrame{Protocol: of, Event: frame.Event, Data: frame.Data})
}
