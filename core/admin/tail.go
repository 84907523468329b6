package admin

import (
	"context"
	"sync"
	"time"

	"github.com/genway/genway/codec/fault"
	"github.com/genway/genway/core/ledger"
	adminv1 "github.com/genway/genway/gen/genway/admin/v1"
	"google.golang.org/grpc"
)

const (
	// tailEvery is how often the ledger is read while somebody watches.
	tailEvery = 500 * time.Millisecond
	// tailQueue is how many reads wait for a viewer that is slow.
	tailQueue = 8
	// tailMessage is how many requests are in one message.
	tailMessage = 500
)

// tail reads what ends on all cores, once for all viewers, and only while there is one.
type tail struct {
	requests ledger.Searcher
	names    func(ctx context.Context, ids []string) (map[string]string, error)

	mu      sync.Mutex
	viewers map[*viewer]struct{}
	stop    context.CancelFunc
	done    chan struct{}
}

// viewer is somebody who watches.
type viewer struct {
	queue chan seen
	// dropped counts what the queue had no room for since the last that it had room for. The
	// tail's mu guards it.
	dropped int64
}

// seen is what one read found.
type seen struct {
	entries  []ledger.Located
	messages []*adminv1.LoggedRequest // of entries; not to be changed
	names    map[string]string        // of their keys; not to be changed
	dropped  int64
	err      error
}

// join adds a viewer. The first has the ledger read.
func (t *tail) join() *viewer {
	v := &viewer{queue: make(chan seen, tailQueue)}
	t.mu.Lock()
	defer t.mu.Unlock()
	if len(t.viewers) == 0 {
		t.viewers = map[*viewer]struct{}{}
		var ctx context.Context
		ctx, t.stop = context.WithCancel(context.Background())
		t.done = make(chan struct{})
		go t.run(ctx, t.done)
	}
	t.viewers[v] = struct{}{}
	return v
}

// leave takes a viewer off. With the last the reading ends.
func (t *tail) leave(v *viewer) {
	t.mu.Lock()
	delete(t.viewers, v)
	stop, done := t.stop, t.done
	last := len(t.viewers) == 0
	if last {
		stop()
	}
	t.mu.Unlock()
	if last {
		<-done
	}
}

// run reads until ctx ends.
func (t *tail) run(ctx context.Context, done chan struct{}) {
	defer close(done)
	ticker := time.NewTicker(tailEvery)
	defer ticker.Stop()
	var cursor ledger.Cursor
	named := namer{names: t.names}
	for {
		var s seen
		s.entries, s.dropped, s.err = t.requests.Tail(ctx, &cursor)
		if ctx.Err() != nil {
			return
		}
		s.messages = logged(s.entries)
		s.names = named.of(ctx, s.messages)
		t.send(done, s)
		select {
		case <-ticker.C:
		case <-ctx.Done():
			return
		}
	}
}

// send sends each viewer that has room what was read, and what it has missed.
func (t *tail) send(done chan struct{}, s seen) {
	nothing := len(s.entries) == 0 && s.dropped == 0 && s.err == nil
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.done != done { // all viewers have left, and others have come
		return
	}
	for v := range t.viewers {
		if nothing && v.dropped == 0 {
			continue
		}
		one := s
		one.dropped += v.dropped
		select {
		case v.queue <- one:
			v.dropped = 0
		default:
			v.dropped += int64(len(s.entries)) + s.dropped
		}
	}
}

// WatchRequests returns requests as they end.
func (s *Service) WatchRequests(req *adminv1.WatchRequestsRequest, stream grpc.ServerStreamingServer[adminv1.WatchRequestsResponse]) error {
	ctx := stream.Context()
	for name, given := range map[string]bool{"filter.since": req.GetFilter().GetSince() != nil, "filter.until": req.GetFilter().GetUntil() != nil} {
		if given {
			return fault.Invalid(name, "%s: a stream has only the present; leave it out", name)
		}
	}
	filter, err := filterOf(req.GetFilter())
	if err != nil {
		return err
	}
	v := s.tail.join()
	defer s.tail.leave(v)
	if err := stream.SendHeader(nil); err != nil { // the caller knows that it watches
		return err
	}
	for {
		select {
		case <-ctx.Done():
			return fault.Wrap(ctx.Err(), fault.Cancelled, "CANCELLED", "the call was cancelled")
		case read := <-v.queue:
			if read.err != nil {
				return unavailable(ctx, read.err)
			}
			resp := &adminv1.WatchRequestsResponse{Dropped: read.dropped, KeyNames: read.names}
			for i := range read.entries {
				if !filter.Means(read.entries[i].Entry) {
					continue
				}
				if resp.Requests = append(resp.Requests, read.messages[i]); len(resp.Requests) == tailMessage {
					if err := stream.Send(resp); err != nil {
						return err
					}
					resp = &adminv1.WatchRequestsResponse{KeyNames: read.names}
				}
			}
			if len(resp.Requests) > 0 || resp.Dropped > 0 {
				if err := stream.Send(resp); err != nil {
					return err
				}
			}
		}
	}
}
