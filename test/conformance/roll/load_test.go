package roll

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"
)

// load is requests at a rate beside a number of open streams.
type load struct {
	balancer *balancer
	key      string
	rate     int
	streams  int
	drip     string // the model of streams
	words    int    // of a stream

	client  *http.Client
	running sync.WaitGroup

	mu       sync.Mutex
	took     []time.Duration // of requests
	failures []error
	cut      []error
	whole    int // streams
}

const hello = `{"model":"sandbox-text","messages":[{"role":"user","content":"Say hello."}]}`

// begin sends until ctx ends, when nothing new is begun.
func (l *load) begin(ctx context.Context) {
	l.running.Go(func() {
		tick := time.NewTicker(time.Second / time.Duration(l.rate))
		defer tick.Stop()
		for {
			select {
			case <-tick.C:
				l.running.Go(func() { l.request(context.WithoutCancel(ctx)) })
			case <-ctx.Done():
				return
			}
		}
	})
	for range l.streams {
		l.running.Go(func() {
			for ctx.Err() == nil {
				l.stream(context.WithoutCancel(ctx))
			}
		})
	}
}

// end waits for what is under way.
func (l *load) end() {
	l.running.Wait()
	l.client.CloseIdleConnections()
}

func (l *load) request(ctx context.Context) {
	begun := time.Now()
	text, err := l.ask(ctx, hello)
	if err == nil && !strings.Contains(text, `"finish_reason":"stop"`) {
		err = fmt.Errorf("the answer is not whole: %s", text)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.took = append(l.took, time.Since(begun))
	if err != nil {
		l.failures = append(l.failures, err)
	}
}

func (l *load) stream(ctx context.Context) {
	words := strings.Repeat("word ", l.words)
	text, err := l.ask(ctx, `{"model":"`+l.drip+`","stream":true,"messages":[{"role":"user","content":"`+words+`"}]}`)
	switch answered := strings.Count(text, `word`); {
	case err != nil:
	case !strings.HasSuffix(text, "data: [DONE]\n\n") || !strings.Contains(text, `"finish_reason":"stop"`) || strings.Contains(text, `"error"`):
		err = fmt.Errorf("the stream is not whole: …%q", text[max(0, len(text)-300):])
	case answered < l.words:
		err = fmt.Errorf("the stream has %d of %d words", answered, l.words)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if err != nil {
		l.cut = append(l.cut, err)
	} else {
		l.whole++
	}
}

// ask makes a request that is sent once: net/http cannot repeat it, since its body cannot
// be read again.
func (l *load) ask(ctx context.Context, body string) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Minute)
	defer cancel()
	address := l.balancer.next()
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://"+address+"/v1/chat/completions", io.NopCloser(strings.NewReader(body)))
	if err != nil {
		return "", err
	}
	req.ContentLength = int64(len(body))
	req.Header.Set("Authorization", "Bearer "+l.key)
	req.Header.Set("Content-Type", "application/json")
	at := time.Now().Format("05.000")
	resp, err := l.client.Do(req)
	if err != nil {
		return "", fmt.Errorf("%s %s: %w", at, address, err)
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err == nil && resp.StatusCode != http.StatusOK {
		err = errors.New(resp.Status)
	}
	if err != nil {
		err = fmt.Errorf("%s %s: %w: %.300s", at, address, err, text)
	}
	return string(text), err
}

// quantile returns how long requests took.
func (l *load) quantile(q float64) time.Duration {
	l.mu.Lock()
	defer l.mu.Unlock()
	slices.Sort(l.took)
	if len(l.took) == 0 {
		return 0
	}
	return l.took[int(q*float64(len(l.took)-1))]
}
