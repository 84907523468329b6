package console

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
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
	if err := c.send(": live\n\n"); err != nil {
		return nil // the browser has left
	}
	tick := time.NewTicker(beat)
	defer tick.Stop()
	for {
		var text string
		select {
		case <-ended:
			return nil
		case <-ctx.Done():
			return nil
		case <-tick.C:
			if _, err := c.admin.GetSession(ctx, &adminv1.GetSessionRequest{}); err != nil {
				return nil // the session has ended
			}
			text = ": alive\n\n"
		case resp := <-got:
			event := liveEvent{Rows: []requestRow{}, Dropped: resp.GetDropped()}
			for _, r := range resp.GetRequests() {
				event.Rows = append(event.Rows, rowOf(r, resp.GetKeyNames()))
			}
			data, err := json.Marshal(event)
			if err != nil {
				return fmt.Errorf("write an event: %w", err)
			}
			text = "data: " + string(data) + "\n\n"
		}
		if err := c.send(text); err != nil {
			return nil // the browser has left, or does not read
		}
	}
}

// send writes at once.
func (c *call) send(text string) error {
	writer := http.NewResponseController(c.w)
	if err := writer.SetWriteDeadline(time.Now().Add(writeWithin)); err != nil && !errors.Is(err, http.ErrNotSupported) {
		return err
	}
	if _, err := c.w.Write([]byte(text)); err != nil {
		return err
	}
	return writer.Flush()
}
