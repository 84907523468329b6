package main

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"

	"github.com/aws/aws-sdk-go-v2/aws/protocol/eventstream"
	"github.com/genway/genway/test/clouds"
)

// proof checks who sends a request to a place.
type proof func(p *player, r *http.Request, body []byte) error

// signed demands AWS Signature Version 4.
func signed(_ *player, r *http.Request, body []byte) error {
	keys := clouds.AWSKeys{ID: "AKIDEXAMPLE", Secret: "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY"}
	return clouds.Verifier{Region: "us-east-1", Service: "bedrock", Keys: []clouds.AWSKeys{keys}}.Verify(r, body)
}

// issued demands a token that the player's issuer has given.
func issued(p *player, r *http.Request, _ []byte) error {
	token, _ := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
	if !p.issuer.Valid(token) {
		return errors.New("the token is not one of the issuer's")
	}
	return nil
}

// keyed demands Azure's static key.
func keyed(_ *player, r *http.Request, _ []byte) error {
	if got := r.Header.Get("Api-Key"); got != "the-key-of-the-place" || r.Header.Get("Authorization") != "" {
		return fmt.Errorf("the header api-key is %q", got)
	}
	return nil
}

// player answers in the place's stead with recordings, in the place's framing. It notes what
// arrives.
type player struct {
	place  place
	issuer *clouds.Issuer

	mu    sync.Mutex
	now   exchange
	calls []call
}

// call is a request that arrived.
type call struct {
	path  string
	body  []byte
	wrong error
}

// begin has the player answer with a recording.
func (p *player) begin(x exchange) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.now, p.calls = x, nil
}

// received are the requests since begin.
func (p *player) received() []call {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.calls
}

// ServeHTTP plays the place, and at /token the issuer of its tokens.
func (p *player) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.URL.Path == "/token" {
		p.issuer.ServeHTTP(w, r)
		return
	}
	body, err := io.ReadAll(r.Body)
	if err == nil {
		err = p.place.proof(p, r, body)
	}
	p.mu.Lock()
	x := p.now
	p.calls = append(p.calls, call{r.URL.RequestURI(), body, err})
	p.mu.Unlock()
	typed, text, err := p.place.answer(x)
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", typed)
	if p.place.framed && x.Status != http.StatusOK {
		w.Header().Set("X-Amzn-Errortype", exceptions[x.Status]+":http://internal.amazon.com/coral/com.amazon.bedrock/")
	}
	w.WriteHeader(x.Status)
	_, _ = w.Write(text) // the caller reports a gateway that has ended
}

// answer is a recorded answer as the place sends it.
func (p place) answer(x exchange) (typed string, text []byte, err error) {
	switch {
	case x.Status != http.StatusOK && p.framed:
		v, err := decode(x.Response)
		if err != nil {
			return "", nil, err
		}
		answer, _ := v.(map[string]any)
		text, err = json.Marshal(map[string]string{"message": errorText(answer)})
		return "application/json", text, err
	case x.ResponseSSE == "":
		text, err = p.unary(x)
		return "application/json", text, err
	case !p.framed:
		all, err := p.streamed(x)
		return "text/event-stream", written(all), err
	}
	all, err := p.streamed(x)
	if err != nil {
		return "", nil, err
	}
	text, err = frames(all)
	return "application/vnd.amazon.eventstream", text, err
}

// unary is a recorded answer with what the place adds.
func (p place) unary(x exchange) ([]byte, error) {
	text := []byte(x.Response)
	for _, c := range p.changes {
		if c.answer == nil || x.Status != http.StatusOK {
			continue
		}
		var err error
		if text, err = changed(text, func(body members) { c.answer(x, body) }); err != nil {
			return nil, err
		}
	}
	return text, nil
}

// streamed are the events of a recorded stream with what the place adds.
func (p place) streamed(x exchange) ([]event, error) {
	all := events(x.ResponseSSE)
	for _, c := range p.changes {
		for i := range all {
			if c.event == nil || all[i].data == "[DONE]" {
				continue
			}
			text, err := changed([]byte(all[i].data), func(body members) { c.event(x, body) })
			if err != nil {
				return nil, err
			}
			all[i].data = string(text)
		}
	}
	return all, nil
}

// written are events as server-sent events.
func written(all []event) []byte {
	var out bytes.Buffer
	for _, e := range all {
		if e.name != "" {
			fmt.Fprintf(&out, "event: %s\n", e.name)
		}
		fmt.Fprintf(&out, "data: %s\n\n", strings.ReplaceAll(e.data, "\n", "\ndata: "))
	}
	return out.Bytes()
}

// frames are events in AWS's event stream, as InvokeModelWithResponseStream sends them.
func frames(all []event) ([]byte, error) {
	var out bytes.Buffer
	encoder := eventstream.NewEncoder()
	for _, e := range all {
		m := eventstream.Message{Payload: []byte(`{"bytes":"` + base64.StdEncoding.EncodeToString([]byte(e.data)) + `","p":"abcdefgh"}`)}
		m.Headers.Set(":event-type", eventstream.StringValue("chunk"))
		m.Headers.Set(":content-type", eventstream.StringValue("application/json"))
		m.Headers.Set(":message-type", eventstream.StringValue("event"))
		if err := encoder.Encode(&out, m); err != nil {
			return nil, err
		}
	}
	return out.Bytes(), nil
}
