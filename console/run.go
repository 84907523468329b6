package console

import (
	"bufio"
	"bytes"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"

	adminv1 "github.com/genway/genway/gen/genway/admin/v1"
	genwayv1 "github.com/genway/genway/gen/genway/v1"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/timestamppb"
)

// The bounds of the playground.
const (
	// maxRuns is how many requests of one session run at once, and maxAll how many of all sessions.
	maxRuns, maxAll = 4, 32
	// runWithin is how long one takes at most, maxAnswer how many bytes of its answer are shown.
	runWithin = 5 * time.Minute
	maxAnswer = 8 << 20
	// maxModel bounds a model's name, in bytes.
	maxModel = 256
	// rowTries and rowEvery say how long the ledger's row is waited for.
	rowTries, rowEvery = 40, 50 * time.Millisecond
)

// runs counts the requests that run, by the hash of the session.
type runs struct {
	mu  sync.Mutex
	of  map[[sha256.Size]byte]int
	all int
	// keys are those that were made for runs, by the hash of session and group.
	keys map[[sha256.Size]byte]runKey
}

// begin reports whether there may be one more; end ends it.
func (r *runs) begin(session [sha256.Size]byte) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.of[session] >= maxRuns || r.all >= maxAll {
		return false
	}
	r.of[session]++
	r.all++
	return true
}

func (r *runs) end(session [sha256.Size]byte) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.all--
	if r.of[session]--; r.of[session] == 0 {
		delete(r.of, session)
	}
}

// runEvent is a line that a run sends to the page.
type runEvent struct {
	Kind string `json:"kind"` // head, piece, cut or end
	// At is in milliseconds since the request was sent.
	At   float64 `json:"at"`
	Text string  `json:"text"`
	// Failed says that a head belongs to a refusal.
	Failed bool `json:"failed,omitzero"`
	// ID and Facts are set at an end, from the ledger's row, if there is one.
	ID    string      `json:"id,omitempty"`
	Facts [][2]string `json:"facts,omitempty"`
}

// run is a request of the playground that runs.
type run struct {
	*call
	play
	key, model string
	body       []byte
	stream     bool
	began      time.Time
	// id is the request's.
	id string
}

// runPlayground sends a request to this process's own gateway, and what comes of it to the page, a
// JSON object a line. What is wrong with the form is one line of text.
func runPlayground(c *call) error {
	p, err := c.runOf()
	if own, ok := errors.AsType[*pageError](err); ok {
		http.Error(c.w, own.message, own.code)
		return nil
	}
	if err != nil {
		return err
	}
	session := sha256.Sum256([]byte(c.raw))
	if !c.console.runs.begin(session) {
		http.Error(c.w, fmt.Sprintf("There are %d runs of this session, or %d of all, at once already. Wait for one to end.", maxRuns, maxAll), http.StatusTooManyRequests)
		return nil
	}
	defer c.console.runs.end(session)
	ctx, stop := context.WithTimeout(c.ctx, runWithin)
	defer stop()
	c.w.Header().Set("Content-Type", "application/x-ndjson")
	c.w.Header().Set("X-Accel-Buffering", "no")
	p.began = time.Now()
	if p.Method != "" {
		err = p.direct(ctx)
	} else {
		err = p.json(ctx)
	}
	if err != nil && c.ctx.Err() == nil {
		text := err.Error()
		if errors.Is(ctx.Err(), context.DeadlineExceeded) {
			text = "it took longer than " + runWithin.String()
		}
		_ = p.tell(runEvent{Kind: "cut", Text: text}) // the browser may have left
	}
	took := time.Since(p.began)
	id, facts := p.row()
	_ = p.tell(runEvent{Kind: "end", Text: took.String(), ID: id, Facts: facts})
	return nil
}

// runOf reads the form. Its errors are *pageError values, or of the Admin service.
func (c *call) runOf() (*run, error) {
	if err := c.r.ParseForm(); err != nil {
		if _, ok := errors.AsType[*http.MaxBytesError](err); ok {
			return nil, &pageError{http.StatusRequestEntityTooLarge, fmt.Sprintf("The playground takes %d bytes at most. Copy the request as curl for more.", maxForm)}
		}
		return nil, &pageError{http.StatusBadRequest, "The form cannot be read."}
	}
	form := c.r.PostForm
	chosen, ok := playOf(form.Get("protocol"))
	if !ok {
		return nil, &pageError{http.StatusBadRequest, "The protocol is none of the playground's."}
	}
	if !c.reaches(chosen) {
		return nil, &pageError{http.StatusNotFound, "This process has no JSON side, and --console-edge names none. Send the contract, or use the console of genway serve."}
	}
	p := &run{call: c, play: chosen, model: strings.TrimSpace(form.Get("model")), body: []byte(form.Get("body")), stream: form.Get("stream") != ""}
	if len(p.model) > maxModel {
		return nil, &pageError{http.StatusBadRequest, fmt.Sprintf("The model's name is longer than %d bytes.", maxModel)}
	}
	if strings.Contains(chosen.Path, "{MODEL}") {
		if p.model == "" {
			return nil, &pageError{http.StatusBadRequest, "This protocol names the model in the path: give one."}
		}
	} else if p.model != "" {
		patched, ok := withModel(p.body, p.model)
		if !ok {
			return nil, &pageError{http.StatusBadRequest, "The body is no JSON object, so its model cannot be replaced. Leave the models empty to send it as it is."}
		}
		p.body = patched
	}
	var err error
	p.key, err = c.keyFor(strings.TrimSpace(form.Get("key")), chosen.Group)
	return p, err
}

// tell sends a line to the page.
func (p *run) tell(e runEvent) error {
	e.At = float64(time.Since(p.began).Microseconds()) / 1000
	line, err := json.Marshal(e)
	if err != nil {
		return err
	}
	return p.send(append(line, '\n'))
}

// row waits for the ledger's row of the request, and returns what it says; nothing where there is none.
func (p *run) row() (id string, facts [][2]string) {
	if p.id == "" || p.ctx.Err() != nil {
		return "", nil
	}
	tick := time.NewTicker(rowEvery)
	defer tick.Stop()
	for range rowTries {
		resp, err := p.admin.ListRequests(p.ctx, &adminv1.ListRequestsRequest{PageSize: 1, Filter: &adminv1.RequestFilter{RequestId: p.id, Since: timestamppb.New(p.began.Add(-time.Minute))}})
		if err != nil {
			return "", nil
		}
		if rows := resp.GetRequests(); len(rows) == 1 && rows[0].GetOutcome() != adminv1.Outcome_OUTCOME_OPEN {
			row := rowOf(rows[0], nil)
			for _, f := range []struct{ name, column string }{
				{"Outcome", "Outcome"}, {"Model", "Model"}, {"First event", "First event"}, {"Took", "Took"}, {"Tokens in", "In"}, {"Cached", "Cached"}, {"Tokens out", "Out"},
				{"Thinking", "Thinking"}, {"Cost", "Cost"}, {"Lost", "Lost"}, {"Attempts", "Tries"}, {"Upstream", "Upstream"},
			} {
				facts = append(facts, [2]string{f.name, row.Cell(f.column)})
			}
			return row.ID, facts
		}
		select {
		case <-tick.C:
		case <-p.ctx.Done():
			return "", nil
		}
	}
	return "", nil
}

// direct sends the contract's message as a direct caller, and each message of the answer as JSON.
func (p *run) direct(ctx context.Context) error {
	text, image := &genwayv1.GenerateTextRequest{}, &genwayv1.GenerateImageRequest{}
	client := genwayv1.NewGenerationClient(p.console.config.Generation)
	var req proto.Message = text
	if p.Method == "GenerateImage" {
		req = image
	}
	if err := protojson.Unmarshal(p.body, req); err != nil {
		return p.refused("INVALID_ARGUMENT", "the body is no message of the contract: "+strings.ReplaceAll(err.Error(), "\u00a0", " "))
	}
	p.id = "req_" + strings.ToLower(rand.Text())
	ctx = metadata.NewOutgoingContext(ctx, metadata.Join(outgoing(showing(p.r, p.key)), metadata.Pairs("x-request-id", p.id))) //nolint:contextcheck // it is the request's
	answer := func(resp proto.Message, err error) error {
		if err != nil {
			return p.refusal(err)
		}
		if err := p.tell(runEvent{Kind: "head", Text: "OK"}); err != nil {
			return nil //nolint:nilerr // the browser has left
		}
		return p.message(resp)
	}
	switch {
	case p.Method == "GenerateImage":
		return answer(client.GenerateImage(ctx, image))
	case !p.stream:
		return answer(client.GenerateText(ctx, text))
	}
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	stream, err := client.StreamGenerateText(ctx, text)
	if err != nil {
		return p.refusal(err)
	}
	for sent, first := 0, true; ; first = false {
		resp, err := stream.Recv()
		switch {
		case errors.Is(err, io.EOF):
			return nil
		case err != nil && first:
			return p.refusal(err)
		case err != nil:
			return errors.New("the stream failed: " + status.Convert(err).Message())
		}
		if first && p.tell(runEvent{Kind: "head", Text: "OK"}) != nil {
			return nil // the browser has left
		}
		if sent += proto.Size(resp); sent > maxAnswer {
			return errLong
		}
		if err := p.message(resp); err != nil {
			return err
		}
	}
}

func outgoing(ctx context.Context) metadata.MD {
	md, _ := metadata.FromOutgoingContext(ctx)
	return md
}

// message sends one message to the page.
func (p *run) message(m proto.Message) error {
	text, err := protojson.Marshal(m)
	if err != nil {
		return errors.New("the answer cannot be written as JSON")
	}
	if len(text) > maxAnswer {
		return errLong
	}
	_ = p.tell(runEvent{Kind: "piece", Text: string(text)}) // the browser may have left
	return nil
}

// refusal tells an error of the service.
func (p *run) refusal(err error) error {
	st := status.Convert(err)
	return p.refused(st.Code().String(), st.Message())
}

func (p *run) refused(code, message string) error {
	_ = p.tell(runEvent{Kind: "head", Text: code, Failed: true})
	_ = p.tell(runEvent{Kind: "piece", Text: message}) // the browser may have left
	return nil
}

// errLong says that an answer is not shown to its end.
var errLong = fmt.Errorf("the answer is longer than %d bytes; the rest is left out", maxAnswer)

// json sends the request to the JSON side of this process or, where it has none, to the edge elsewhere, and nowhere else: redirects are
// not followed.
func (p *run) json(ctx context.Context) error {
	path := p.Path
	if p.stream && p.Stream != "" {
		path = p.Stream
	}
	path = strings.ReplaceAll(path, "{MODEL}", url.PathEscape(p.model))
	transport, base := &http.Transport{DisableKeepAlives: true, DisableCompression: true}, p.console.config.Edge
	if gateway := p.console.config.Gateway; gateway != nil {
		base = "http://gateway"
		transport.DialContext = func(ctx context.Context, _, _ string) (net.Conn, error) { return gateway(ctx, addressOf(p.r)) }
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, base+path, bytes.NewReader(p.body))
	if err != nil {
		return errors.New("the model's name makes no path")
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("User-Agent", "genway-console")
	for _, line := range p.Headers {
		name, value, _ := strings.Cut(line, ": ")
		req.Header.Set(name, strings.ReplaceAll(value, "{KEY}", p.key))
	}
	resp, err := transport.RoundTrip(req)
	if err != nil {
		return errors.New("the gateway does not answer")
	}
	defer resp.Body.Close()
	p.id = resp.Header.Get("X-Genway-Request-Id")
	if err := p.tell(runEvent{Kind: "head", Text: headText(resp), Failed: resp.StatusCode >= 400}); err != nil {
		return nil // the browser has left
	}
	in := bufio.NewReader(io.LimitReader(resp.Body, maxAnswer+1))
	frames := strings.HasPrefix(resp.Header.Get("Content-Type"), "text/event-stream")
	var piece []byte
	for read := 0; ; {
		line, err := in.ReadSlice('\n')
		piece, read = append(piece, line...), read+len(line)
		if read > maxAnswer {
			return errLong
		}
		ended := err != nil && !errors.Is(err, bufio.ErrBufferFull)
		if len(piece) > 0 && (ended || frames && err == nil && len(bytes.TrimRight(line, "\r\n")) == 0) {
			if p.tell(runEvent{Kind: "piece", Text: string(piece)}) != nil {
				return nil // the browser has left
			}
			piece = piece[:0]
		}
		if errors.Is(err, io.EOF) {
			return nil
		}
		if ended {
			return errors.New("the answer was cut")
		}
	}
}

// headText is the head of an answer, its headers in the order of their names.
func headText(resp *http.Response) string {
	lines := []string{}
	for name, values := range resp.Header {
		for _, value := range values {
			lines = append(lines, name+": "+value)
		}
	}
	slices.Sort(lines)
	return resp.Status + "\n" + strings.Join(lines, "\n")
}

// withModel returns the JSON object with another model at its top level; all else stays as it is.
func withModel(body []byte, model string) ([]byte, bool) {
	name, err := json.Marshal(model)
	if err != nil || !json.Valid(body) {
		return nil, false
	}
	d := json.NewDecoder(bytes.NewReader(body))
	if open, err := d.Token(); err != nil || open != json.Delim('{') {
		return nil, false
	}
	begin, empty := int(d.InputOffset()), true
	for ; d.More(); empty = false {
		key, err := d.Token()
		var value json.RawMessage
		if err != nil || d.Decode(&value) != nil {
			return nil, false
		}
		if end := int(d.InputOffset()); key == "model" {
			return slices.Concat(body[:end-len(value)], name, body[end:]), true
		}
	}
	if !empty {
		name = append(name, ',')
	}
	return slices.Concat(body[:begin], []byte(`"model":`), name, body[begin:]), true
}
