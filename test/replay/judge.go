package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"

	"github.com/genway/genway/test/strict"
)

// answer is what the caller received.
type answer struct {
	status int
	body   []byte
}

// ask sends a recorded request to the gateway, as a client of its protocol.
func ask(ctx context.Context, client *http.Client, g *gateway, x exchange) (answer, error) {
	path, err := target(x)
	if err != nil {
		return answer{}, err
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, g.address+path, bytes.NewReader(x.Request))
	if err != nil {
		return answer{}, err
	}
	req.Header.Set("Content-Type", "application/json")
	key := g.keys[groups[x.Protocol]]
	switch groups[x.Protocol] {
	case "messages":
		req.Header.Set("X-Api-Key", key)
		req.Header.Set("Anthropic-Version", "2023-06-01")
		req.Header.Set("Anthropic-Beta", "beta-1,beta-2")
	case "generatecontent":
		req.Header.Set("X-Goog-Api-Key", key)
	default:
		req.Header.Set("Authorization", "Bearer "+key)
	}
	resp, err := client.Do(req)
	if err != nil {
		return answer{}, err
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	return answer{resp.StatusCode, body}, err
}

// refusal reports why an answer is not the gateway's own refusal ahead of any call.
func (a answer) refusal(received []call) string {
	v, err := decode(a.body)
	answer, _ := v.(map[string]any)
	if err != nil || a.status < 400 || a.status >= 500 && a.status != http.StatusNotImplemented || errorText(answer) == "" || len(received) > 0 {
		return fmt.Sprintf("expected a refusal by name, got %d after %d calls: %.160s", a.status, len(received), a.body)
	}
	return ""
}

// judge lists where an exchange departs from its recording by more than the place's changes.
func (p place) judge(x exchange, received []call, got answer) []string {
	if len(received) != 1 {
		return []string{fmt.Sprintf("the place was called %d times, and the caller got %d %.160s", len(received), got.status, got.body)}
	}
	return append(p.judgeRequest(x, received[0]), p.judgeAnswer(x, got)...)
}

func (p place) judgeRequest(x exchange, arrived call) []string {
	var wrong []string
	if arrived.wrong != nil {
		wrong = append(wrong, arrived.wrong.Error())
	}
	path := p.paths(x)
	if x.Protocol == "generatecontent" && x.Stream {
		path += "?alt=sse"
	}
	if arrived.path != path {
		wrong = append(wrong, fmt.Sprintf("the path is %s, not %s", arrived.path, path))
	}
	want := []byte(x.Request)
	for _, c := range p.changes {
		if c.request == nil {
			continue
		}
		var err error
		if want, err = changed(want, func(body members) { c.request(x, body) }); err != nil {
			return append(wrong, err.Error())
		}
	}
	for _, d := range differences(want, arrived.body) {
		wrong = append(wrong, "request: "+d)
	}
	return append(wrong, p.refusals(x, arrived.body)...)
}

// refusals returns what the place refuses by its rules of a body whose like its vendor has answered. Recordings of the
// protocols of OpenAI are of many engines, which take more.
func (p place) refusals(x exchange, body []byte) []string {
	var all []string
	if x.Status != http.StatusOK || x.Protocol != "messages" && x.Protocol != "generatecontent" {
		return nil
	}
	at, _, _ := strings.Cut(p.name, "-")
	for _, r := range strict.Judge(strict.Target{Place: at, Protocol: x.Protocol, Model: x.Model()}, body) {
		all = append(all, "refused by the place's rules: "+r.String())
	}
	return all
}

func (p place) judgeAnswer(x exchange, got answer) []string {
	if got.status != x.Status {
		return []string{fmt.Sprintf("status %d became %d: %.160s", x.Status, got.status, got.body)}
	}
	var found []string
	switch {
	case x.Status != http.StatusOK:
		want := []byte(x.Response)
		var err error
		for _, c := range p.changes {
			if c.failure == nil {
				continue
			}
			if want, err = changed(want, func(body members) { c.failure(x, body) }); err != nil {
				return []string{err.Error()}
			}
			if got.body, err = changed(got.body, func(body members) { delete(body, c.own) }); err != nil {
				return []string{err.Error()}
			}
		}
		found = differences(want, got.body)
	case x.ResponseSSE != "":
		want, err := p.streamed(x)
		if err != nil {
			return []string{err.Error()}
		}
		found = streamDifferences(want, events(string(got.body)))
	default:
		want, err := p.unary(x)
		if err != nil {
			return []string{err.Error()}
		}
		found = differences(want, got.body)
	}
	for i := range found {
		found[i] = "answer: " + found[i]
	}
	return found
}
