package console

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"sync"
	"time"

	adminv1 "github.com/genway/genway/gen/genway/admin/v1"
)

const (
	// beat is how often a live page gets a sign of life, and its session looked at.
	beat = 10 * time.Second
	// writeWithin is how long a browser may take to accept what it is sent.
	writeWithin = 10 * time.Second
)

// liveEvent is what a live page gets.
type liveEvent struct {
	Rows    []requestRow `json:"rows"`
	Dropped int64        `json:"dropped"`
}

// liveWriter writes events, each in the memory of the one before.
type liveWriter struct {
	event liveEvent
	text  bytes.Buffer
}

// liveWriters are those that no event needs. A browser has one only while an event is sent to it.
var liveWriters = sync.Pool{New: func() any { return &liveWriter{event: liveEvent{Rows: []requestRow{}}} }}

// write returns an event's text, which is valid until the next one.
func (w *liveWriter) write(resp *adminv1.WatchRequestsResponse) ([]byte, error) {
	requests := resp.GetRequests()
	w.event.Rows = slices.Grow(w.event.Rows[:0], len(requests))[:len(requests)]
	for i, r := range requests {
		w.event.Rows[i].fill(r, resp.GetKeyNames())
	}
	w.event.Dropped = resp.GetDropped()
	w.text.Reset()
	w.text.WriteString("data: ")
	if err := json.NewEncoder(&w.text).Encode(w.event); err != nil { // it ends the line
		return nil, fmt.Errorf("write an event: %w", err)
	}
	w.text.WriteByte('\n')
	return w.text.Bytes(), nil
}

// liveRequests sends requests as they end, as server-sent events, until the browser leaves, the
// session ends, or the browser does not read.
func liveRequests(c *call) error {
	f := c.filter()
	f.Since = nil
	ctx, stop := context.WithCancel(c.ctx)
	defer stop()
	stream, err := c.admin.WatchRequests(ctx, &adminv1.WatchRequestsRequest{Filter: f.RequestFilter})
	if err != nil {
		return err
	}
	got := make(chan *adminv1.WatchRequestsResponse)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		for {
			resp, err := stream.Recv()
			if err != nil {
				return
			}
			select {
			case got <- resp:
			case <-ctx.Done():
				return
			}
		}
	}()
	defer func() {
		stop()
		<-ended
	}()
	c.w.Header().Set("Content-Type", "text/event-stream")
	c.w.Header().Set("X-Accel-Buffering", "no")
	if err := c.send([]byte(": live\n\n")); err != nil {
		return nil // the browser has left
	}
	tick := time.NewTicker(beat)
	defer tick.Stop()
	for {
		var err error
		select {
		case <-ended:
			return nil
		case <-ctx.Done():
			return nil
		case <-tick.C:
			if _, err := c.admin.GetSession(ctx, &adminv1.GetSessionRequest{}); err != nil {
				return nil // the session has ended
			}
			err = c.send([]byte(": alive\n\n"))
		case resp := <-got:
			writer := liveWriters.Get().(*liveWriter) //nolint:forcetypeassert // the pool has no others
			text, failed := writer.write(resp)
			if failed != nil {
				return failed
			}
			err = c.send(text)
			liveWriters.Put(writer)
		}
		if err != nil {
			return nil // the browser has left, or does not read
		}
	}
}

// send writes at once.
func (c *call) send(text []byte) error {
	writer := http.NewResponseController(c.w)
	if err := writer.SetWriteDeadline(time.Now().Add(writeWithin)); err != nil && !errors.Is(err, http.ErrNotSupported) {
		return err
	}
	if _, err := c.w.Write(text); err != nil {
		return err
	}
	return writer.Flush()
}
