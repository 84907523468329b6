package remote_test

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/genway/genway/core/upstream/remote"
	genwayv1 "github.com/genway/genway/gen/genway/v1"
	"github.com/genway/genway/protocol/deferred"
)

// The list is asked for where the vendors' own clients ask for it, with the key where the
// protocol puts it.
func TestListModelsAddress(t *testing.T) {
	for name, c := range map[string]struct {
		protocol              genwayv1.Protocol
		token, url, key, sent string
		body                  string
	}{
		"chat":            {genwayv1.Protocol_PROTOCOL_CHAT_COMPLETIONS, "", "http://upstream.invalid/v1/models", "Authorization", "Bearer k", `{"data":[{"id":"m"}]}`},
		"responses":       {genwayv1.Protocol_PROTOCOL_RESPONSES, "", "http://upstream.invalid/v1/models", "Authorization", "Bearer k", `{"data":[{"id":"m"}]}`},
		"images":          {genwayv1.Protocol_PROTOCOL_IMAGES, "", "http://upstream.invalid/v1/models", "Authorization", "Bearer k", `{"data":[{"id":"m"}]}`},
		"messages":        {genwayv1.Protocol_PROTOCOL_MESSAGES, "a b", "http://upstream.invalid/v1/models?after_id=a+b&limit=1000", "X-Api-Key", "k", `{"data":[{"id":"m"}]}`},
		"generateContent": {genwayv1.Protocol_PROTOCOL_GENERATE_CONTENT, "t&x", "http://upstream.invalid/v1beta/models?pageSize=1000&pageToken=t%26x", "X-Goog-Api-Key", "k", `{"models":[{"name":"models/m"}]}`},
	} {
		t.Run(name, func(t *testing.T) {
			u := adapter(t, c.protocol, answering(func(r *http.Request) (*http.Response, error) {
				if r.Method != http.MethodGet || r.URL.String() != c.url || r.Header.Get(c.key) != c.sent || r.Header.Get("X-Mine") != "1" || r.Header.Get("Accept-Encoding") != "" {
					t.Errorf("%s %s %v, want %s with %s: %s", r.Method, r.URL, r.Header, c.url, c.key, c.sent)
				}
				return &http.Response{StatusCode: http.StatusOK, Body: io.NopCloser(strings.NewReader(c.body)), Request: r}, nil
			}), func(config *remote.Config) {
				config.Headers = map[string]string{"X-Mine": "1", "accept-encoding": "gzip"}
			})
			list, err := u.ListModels(t.Context(), c.token)
			if err != nil || len(list.GetModels()) != 1 || list.GetModels()[0].GetName() != "m" {
				t.Errorf("%v, %v", list, err)
			}
		})
	}
}

// What is no list is an error that repeats nothing of the answer.
func TestListModelsFails(t *testing.T) {
	var zipped bytes.Buffer
	z := gzip.NewWriter(&zipped)
	_, _ = io.Copy(z, io.LimitReader(zeros{}, 100<<20))
	_ = z.Close()
	for name, transport := range map[string]answering{
		"401":           answered(401, strings.NewReader(`{"error":{"message":"bad key secret-text"}}`)),
		"redirect":      answered(302, strings.NewReader("secret-text"), "Location", "http://elsewhere.invalid/secret-text"),
		"accepted":      answered(202, strings.NewReader(`{"data":[{"id":"secret-text"}]}`)),
		"HTML":          answered(200, strings.NewReader("<html>secret-text</html>")),
		"empty":         answered(200, strings.NewReader("")),
		"100 MB":        answered(200, io.MultiReader(strings.NewReader(`{"data":[],"secret-text":"`), io.LimitReader(zeros{}, 100<<20))),
		"zipped 100 MB": answered(200, &zipped, "Content-Encoding", "gzip"),
		"cut":           answered(200, io.MultiReader(strings.NewReader(`{"data":[{"id":"secret-text"}`), cutOff{})),
		"no connection": func(*http.Request) (*http.Response, error) { return nil, errors.New("connection refused") },
	} {
		t.Run(name, func(t *testing.T) {
			transport := func(r *http.Request) (*http.Response, error) {
				if r.Body == nil {
					r.Body = http.NoBody
				}
				return transport(r)
			}
			list, err := chat(t, answering(transport)).ListModels(t.Context(), "")
			if err == nil || strings.Contains(err.Error(), "secret-text") {
				t.Errorf("%v, %v", list, err)
			}
		})
	}
}

// An upstream that hangs is left when the context says so.
func TestListModelsGivesUp(t *testing.T) {
	for name, transport := range map[string]answering{
		"before its headers": func(r *http.Request) (*http.Response, error) {
			<-r.Context().Done()
			return nil, r.Context().Err()
		},
		"in its body": func(r *http.Request) (*http.Response, error) {
			return &http.Response{StatusCode: http.StatusOK, Body: io.NopCloser(hanging{r.Context()}), Request: r}, nil
		},
	} {
		t.Run(name, func(t *testing.T) {
			ctx, stop := context.WithTimeout(t.Context(), 10*time.Millisecond)
			defer stop()
			if list, err := chat(t, transport).ListModels(ctx, ""); !errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("%v, %v", list, err)
			}
		})
	}
}

type zeros struct{}

func (zeros) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = '0'
	}
	return len(p), nil
}

type cutOff struct{}

func (cutOff) Read([]byte) (int, error) { return 0, io.ErrUnexpectedEOF }

type hanging struct{ ctx context.Context }

func (h hanging) Read([]byte) (int, error) {
	<-h.ctx.Done()
	return 0, h.ctx.Err()
}

// Another key is used by calls that begin from then on; both are kept from callers.
func TestSetAPIKey(t *testing.T) {
	var shown []string
	u := chat(t, answering(func(r *http.Request) (*http.Response, error) {
		shown = append(shown, r.Header.Get("Authorization")+" "+r.Header.Get("X-Mine"))
		return &http.Response{StatusCode: http.StatusBadRequest, Header: http.Header{}, Body: io.NopCloser(strings.NewReader(`{"error":{"message":"not old-key-1 nor new-key-1 nor third-key"}}`)), Request: r}, nil
	}), func(config *remote.Config) {
		config.APIKey, config.Headers = "old-key-1", map[string]string{"X-Mine": "1"}
	})
	for _, c := range []struct{ key, shown, says string }{
		{"", "Bearer old-key-1 1", "not [REDACTED] nor new-key-1 nor third-key"},
		{"new-key-1", "Bearer new-key-1 1", "not [REDACTED] nor [REDACTED] nor third-key"},
		{"third-key", "Bearer third-key 1", "not old-key-1 nor [REDACTED] nor [REDACTED]"},
	} {
		if c.key != "" {
			u.SetAPIKey(c.key)
		}
		_, err := u.GenerateText(t.Context(), deferred.New(hello()))
		if got := shown[len(shown)-1]; got != c.shown || err == nil || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%q, %v; want %q, %s", got, err, c.shown, c.says)
		}
	}
}
