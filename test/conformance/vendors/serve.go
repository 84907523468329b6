package vendors

import (
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"time"

	"github.com/genway/genway/test/strict"
)

// ServeHTTP answers one request. What a test did not mean to send gets 404.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.Watch(r)
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return // the gateway broke off
	}
	var asked struct {
		Model  string `json:"model"`
		Stream bool   `json:"stream"`
	}
	if err := json.Unmarshal(body, &asked); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	var protocol string
	switch path := strings.TrimPrefix(r.URL.Path, "/v1"); path {
	case "/chat/completions":
		protocol = "chat"
	case "/responses":
		protocol = "responses"
	case "/messages":
		protocol = "messages"
	case "/images/generations":
		draw(w)
		return
	default:
		model, method, _ := strings.Cut(strings.TrimPrefix(path, "beta/models/"), ":")
		asked.Model, asked.Stream = model, method == "streamGenerateContent"
		protocol = "generatecontent"
	}
	for _, refusal := range strict.Judge(strict.Target{Protocol: protocol, Model: asked.Model}, body) {
		s.tb.Errorf("%s is sent what its vendor refuses: %s, by %s: %s", asked.Model, refusal, refusal.Source, body)
	}
	do, _, _ := strings.Cut(asked.Model, "-")
	n := Number(asked.Model)
	if n < 0 {
		http.Error(w, `{"error":{"message":"no such model"}}`, http.StatusNotFound)
		return
	}
	if do == BrokenChat && protocol == "chat" {
		do = Broken
	}
	pieces := unary(protocol, n)
	if asked.Stream {
		pieces = stream(protocol, n)
		w.Header().Set("Content-Type", "text/event-stream")
	} else {
		w.Header().Set("Content-Type", "application/json")
	}
	s.act(do, n, pieces, w, r)
}

// act does what is asked with an answer, which is given in two pieces at least.
func (s *Server) act(do string, n int, pieces []string, w http.ResponseWriter, r *http.Request) {
	calls, held := s.called(n)
	middle := len(pieces) / 2
	if do == Once && calls == 1 {
		do = Broken
	}
	switch do {
	case Busy:
		refuse(w, http.StatusTooManyRequests, "not today")
		return
	case Broken:
		refuse(w, http.StatusInternalServerError, "not today")
		return
	case Echo, Echo400:
		refuse(w, map[string]int{Echo: http.StatusUnauthorized, Echo400: http.StatusBadRequest}[do], wrongKey(r))
		return
	case EchoLate:
		if w.Header().Get("Content-Type") == "application/json" {
			refuse(w, http.StatusOK, wrongKey(r))
			return
		}
	case Garbage:
		_, _ = io.WriteString(w, "<html>It works!</html>")
		return
	case Created:
		w.WriteHeader(http.StatusCreated)
	case LeaveFirst:
		s.leave(n, r)
	}
	for i, piece := range pieces {
		if i == middle {
			switch do {
			case Cut:
				panic(http.ErrAbortHandler)
			case EchoLate:
				_, _ = io.WriteString(w, "event: error\ndata: "+failure(wrongKey(r))+"\n\n")
				return
			case LeaveMiddle:
				s.leave(n, r)
			case Hold:
				select {
				case <-held:
				case <-r.Context().Done():
				}
			}
		}
		if do == Drip && i > 0 {
			pause := time.NewTimer(s.Pause)
			select {
			case <-pause.C:
			case <-r.Context().Done():
				pause.Stop()
			}
		}
		if r.Context().Err() != nil {
			return // the caller has disconnected, which a write might not report
		}
		if _, err := io.WriteString(w, piece); err != nil {
			return
		}
		if err := http.NewResponseController(w).Flush(); err != nil {
			return
		}
	}
	s.finished(n)
}

// leave has the caller leave. Where the gateway is to leave as well, it waits for that.
func (s *Server) leave(n int, r *http.Request) {
	s.Leave(n)
	if r.Header.Get(OnCancel) != "cancel" {
		return
	}
	timer := time.NewTimer(leaveWithin)
	defer timer.Stop()
	select {
	case <-r.Context().Done():
	case <-timer.C:
		s.mu.Lock()
		defer s.mu.Unlock()
		s.stayed = append(s.stayed, n)
	}
}

// leaveWithin is far above the time a gateway needs to leave after its caller.
const leaveWithin = 30 * time.Second

// refuse answers with an error body that each protocol takes.
func refuse(w http.ResponseWriter, status int, message string) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_, _ = io.WriteString(w, failure(message))
}

func failure(message string) string {
	return `{"type":"error","error":{"type":"api_error","code":500,"status":"INTERNAL","message":"` + message + `"}}`
}

// wrongKey says of the key that came that it is wrong.
func wrongKey(r *http.Request) string {
	return "wrong key: " + r.Header.Get("Authorization") + r.Header.Get("X-Api-Key") + r.Header.Get("X-Goog-Api-Key")
}

// ImageBytes is how large an image is that is drawn, without its encoding.
const ImageBytes = 20_000_000

// draw answers with one image, of nothing.
func draw(w http.ResponseWriter) {
	w.Header().Set("Content-Type", "application/json")
	_, _ = io.WriteString(w, `{"created":7,"data":[{"b64_json":"`)
	for range ImageBytes * 4 / 3 / len(nothing) {
		_, _ = io.WriteString(w, nothing)
	}
	_, _ = io.WriteString(w, `"}],"usage":{"input_tokens":5,"output_tokens":7,"total_tokens":12}}`)
}

// nothing is the encoding of zeros.
var nothing = strings.Repeat("A", 4096)
