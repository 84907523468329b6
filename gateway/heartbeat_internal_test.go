package gateway

import (
	"io"
	"testing"
	"testing/synctest"
	"time"

	genwayv1 "github.com/genway/genway/gen/genway/v1"
)

// paced is a source of events that come one by one.
type paced chan any

func (p paced) Messages() <-chan any { return p }
func (paced) End() error             { return io.EOF }

func newPaced(source source, heartbeat time.Duration) *eventStream[genwayv1.GenerateTextRequest, genwayv1.StreamGenerateTextResponse] {
	return &eventStream[genwayv1.GenerateTextRequest, genwayv1.StreamGenerateTextResponse]{
		source: source, done: make(chan struct{}), beats: newHeartbeatTimer(heartbeat), record: new(requestRecord),
		kind: kindOf[genwayv1.StreamGenerateTextResponse]{
			look:  lookText,
			ping:  func() *genwayv1.StreamGenerateTextResponse { return nil },
			check: func(*genwayv1.StreamGenerateTextResponse) error { return nil },
		},
	}
}

// A heartbeat follows each whole silence and nothing else: not events that come just before it,
// however many there are, and not the completed one.
func TestSilence(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const most, just = 15 * time.Second, 15*time.Second - time.Nanosecond
		source := make(paced)
		s := newPaced(source, most)
		event := &genwayv1.StreamGenerateTextResponse{}
		completed := &genwayv1.StreamGenerateTextResponse{Payload: &genwayv1.StreamGenerateTextResponse_Completed{}}
		completed.GetPayload().(*genwayv1.StreamGenerateTextResponse_Completed).Completed = &genwayv1.TextCompleted{}
		go func() {
			for range 3 {
				time.Sleep(just) //nolint:forbidigo // the bubble's own clock
				source <- event
			}
			time.Sleep(2*most + just) //nolint:forbidigo // the bubble's own clock
			source <- event
			time.Sleep(time.Second) //nolint:forbidigo // the bubble's own clock
			source <- completed
			time.Sleep(5 * most) //nolint:forbidigo // the bubble's own clock
			close(source)
		}()
		begun, beats := time.Now(), []time.Duration{}
		for {
			got, err := s.Recv()
			if err != nil {
				break
			}
			if got == nil {
				beats = append(beats, time.Since(begun))
			}
		}
		if len(beats) != 2 || beats[0] != 3*just+most || beats[1] != 3*just+2*most {
			t.Errorf("heartbeats after %v", beats)
		}
		s.beats.end()
	})
}

// The time for which a caller is sent to is not silence: it begins when the next event is waited for.
func TestSilenceBeginsWithTheWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		source := make(paced)
		s := newPaced(source, 10*time.Second)
		defer s.beats.end()
		go func() { source <- &genwayv1.StreamGenerateTextResponse{} }()
		if got, err := s.Recv(); got == nil || err != nil {
			t.Fatal(got, err)
		}
		time.Sleep(25 * time.Second) //nolint:forbidigo // the bubble's own clock
		begun := time.Now()
		if got, _ := s.Recv(); got != nil || time.Since(begun) != 10*time.Second {
			t.Errorf("%v after %v", got, time.Since(begun))
		}
	})
}

// Without heartbeats nothing is timed.
func TestNoHeartbeat(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		source := make(paced)
		s := newPaced(source, 0)
		go func() {
			time.Sleep(time.Hour) //nolint:forbidigo // the bubble's own clock
			close(source)
		}()
		if got, err := s.Recv(); got != nil || err == nil || s.beats.timer != nil {
			t.Error(got, err)
		}
		s.beats.end()
	})
}

// BenchmarkPacedEvents receives events each of which is waited for.
func BenchmarkPacedEvents(b *testing.B) {
	source := make(paced)
	go func() {
		defer close(source)
		event := &genwayv1.StreamGenerateTextResponse{}
		for range b.N {
			source <- event
		}
	}()
	s := newPaced(source, 15*time.Second)
	defer s.beats.end()
	b.ReportAllocs()
	for range b.N {
		if _, err := s.Recv(); err != nil {
			b.Fatal(err)
		}
	}
	if _, err := s.Recv(); err == nil {
		b.Fatal("more than was sent")
	}
}
