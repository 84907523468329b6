package console

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"
)

// errLong is of an answer that is not shown to its end.
var errLong = fmt.Errorf("the answer is longer than %d bytes; the rest is left out", maxAnswer)

// json sends the request to the JSON side of this process, and nowhere else.
func (p *run) json(ctx context.Context) error {
	path := p.Path
	if p.stream && p.Stream != "" {
		path = p.Stream
	}
	path = strings.ReplaceAll(path, "{MODEL}", url.PathEscape(p.model))
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://gateway"+path, bytes.NewReader(p.body))
	if err != nil {
		return errors.New("the model's name makes no path")
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("User-Agent", "genway-console")
	for _, line := range p.Headers {
		name, value, _ := strings.Cut(line, ": ")
		req.Header.Set(name, strings.ReplaceAll(value, "{KEY}", p.key))
	}
	transport := &http.Transport{DisableKeepAlives: true, DisableCompression: true, DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return p.console.config.Gateway(ctx, addressOf(p.r))
	}}
	resp, err := transport.RoundTrip(req)
	if err != nil {
		return errors.New("the gateway of this process does not answer")
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
