package gateway_test

import (
	"context"
	"crypto/tls"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"github.com/genway/genway/codec"
	"github.com/genway/genway/codec/fault"
	"github.com/genway/genway/gateway"
	genwayv1 "github.com/genway/genway/gen/genway/v1"
	"google.golang.org/protobuf/proto"
)

// losing is a stream that loses the request's max_output_tokens, which is known as it
// starts, and of the answer what is known at its end.
func losing(end error) func(context.Context, func(*genwayv1.StreamGenerateTextResponse) error) error {
	return func(_ context.Context, send func(*genwayv1.StreamGenerateTextResponse) error) error {
		early, late := []*genwayv1.Loss{{Member: "max_output_tokens"}}, []*genwayv1.Loss{{Member: "max_output_tokens"}, {Member: "usage.tool_use_input_tokens"}}
		for _, ev := range []proto.Message{
			&genwayv1.TextStarted{Id: "gen_1", Model: "m", Losses: early},
			&genwayv1.PartStarted{Part: &genwayv1.Part{Kind: &genwayv1.Part_Text{Text: &genwayv1.Text{}}}},
			&genwayv1.PartDelta{Delta: &genwayv1.PartDelta_Text{Text: "hello"}},
			&genwayv1.PartCompleted{},
			&genwayv1.TextCompleted{Candidates: []*genwayv1.CandidateEnd{{StopReason: genwayv1.StopReason_STOP_REASON_END_TURN}}, Losses: late},
		} {
			if _, last := ev.(*genwayv1.TextCompleted); last && end != nil {
				return end
			}
			if err := send(codec.Event(ev)); err != nil {
				return err
			}
		}
		return nil
	}
}

// over returns a client of a server that speaks that version of HTTP.
func (e *edge) over(t *testing.T, version int) (client *http.Client, url string) {
	t.Helper()
	if version == 1 {
		return e.Client(), e.URL
	}
	server := httptest.NewUnstartedServer(e.Config.Handler)
	server.EnableHTTP2, server.Config.ErrorLog = true, slog.NewLogLogger(slog.DiscardHandler, slog.LevelError)
	server.StartTLS()
	t.Cleanup(server.Close)
	client = server.Client()
	client.Transport.(*http.Transport).TLSClientConfig.MinVersion = tls.VersionTLS12
	return client, server.URL
}

// What a stream loses is named in its header, as far as it is known by then, and then in
// its trailer and, where callers read comments, in one before the end.
func TestStreamsNameTheirLosses(t *testing.T) {
	early := map[string]string{"chat": "max_completion_tokens", "responses": "max_output_tokens", "messages": "max_tokens", "generatecontent": "generationConfig.maxOutputTokens", "interactions": "generation_config.max_output_tokens"}
	late := map[string]string{"generatecontent": "usageMetadata.toolUseInputTokens"}
	arrays := streamed[3]
	arrays.path = strings.TrimSuffix(arrays.path, "?alt=sse")
	for _, version := range []int{1, 2} {
		e := serve(t, nil)
		client, url := e.over(t, version)
		for _, p := range append(slices.Clip(streamed), arrays) {
			for _, end := range []error{nil, detailed(fault.New(fault.Overloaded, "X", "too many cooks"))} {
				e.core.stream = losing(end)
				req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, url+p.path, strings.NewReader(p.body))
				if err != nil {
					t.Fatal(err)
				}
				req.Header = right(p.name)
				resp, err := client.Do(req)
				if err != nil {
					t.Fatal(err)
				}
				body, err := io.ReadAll(resp.Body)
				resp.Body.Close()
				if err != nil || resp.ProtoMajor != version {
					t.Fatalf("HTTP/%d: %v", resp.ProtoMajor, err)
				}
				want := "usage.tool_use_input_tokens"
				if late[p.name] != "" {
					want = late[p.name]
				}
				if end != nil {
					want = "" // nothing more was lost by then
				}
				if lost := resp.Header.Get("X-Genway-Lost"); lost != early[p.name] {
					t.Errorf("%s: the header has %q", p.path, lost)
				}
				if lost := resp.Trailer.Get("X-Genway-Lost"); lost != want {
					t.Errorf("%s: the trailer has %q, not %q", p.path, lost, want)
				}
				comment := ": x-genway-lost " + want + "\n\n"
				before, after, commented := strings.Cut(string(body), comment)
				if takes := p.name != "generatecontent" && want != ""; commented != takes || commented && (!strings.Contains(before, "hello") || !strings.Contains(after, p.end)) {
					t.Errorf("%s:\n%s", p.path, body)
				}
			}
		}
	}
}

// A stream that loses nothing says nothing of it.
func TestStreamsThatLoseNothing(t *testing.T) {
	e := serve(t, func(c *gateway.Config) { c.Heartbeat = -1 })
	for _, p := range streamed {
		r := e.do(t, http.MethodPost, p.path, right(p.name), p.body)
		if r.header.Get("X-Genway-Lost") != "" || len(r.trailer) > 0 && r.trailer.Get("X-Genway-Lost") != "" || strings.Contains(r.body, "genway-lost") {
			t.Errorf("%s: %v %v\n%s", p.name, r.header, r.trailer, r.body)
		}
	}
}
