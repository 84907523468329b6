package main

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"encoding/json"
	"fmt"
	"os"
	"regexp"

	"github.com/genway/genway/codec"
	"github.com/tmaxmax/go-sse"
)

// exchange is one line of the corpus.
type exchange struct {
	ID          string          `json:"id"`
	Protocol    string          `json:"protocol"`
	Path        string          `json:"path"`
	Status      int             `json:"status"`
	Stream      bool            `json:"stream"`
	Request     json.RawMessage `json:"request"`
	Response    json.RawMessage `json:"response"`
	ResponseSSE string          `json:"response_sse"`
}

// load reads the exchanges of text generation.
func load(path string) ([]exchange, error) {
	zipped, err := os.ReadFile(path) //nolint:gosec // the file its user names
	if err != nil {
		return nil, err
	}
	unzipped, err := gzip.NewReader(bytes.NewReader(zipped))
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	var all []exchange
	lines := bufio.NewScanner(unzipped)
	lines.Buffer(nil, 256<<20)
	for n := 1; lines.Scan(); n++ {
		var x exchange
		if err := json.Unmarshal(lines.Bytes(), &x); err != nil {
			return nil, fmt.Errorf("%s:%d: %w", path, n, err)
		}
		if _, ok := protocols[x.Protocol]; !ok {
			continue // counting tokens
		}
		if x.Status == 0 {
			x.Status = 200
		}
		all = append(all, x)
	}
	return all, lines.Err()
}

var modelInPath = regexp.MustCompile(`/models/([^/:?]+):`)

// model is the model that generateContent has in its path.
func (x exchange) model() string {
	if m := modelInPath.FindStringSubmatch(x.Path); m != nil {
		return m[1]
	}
	return ""
}

// frames are the events of a streamed answer, up to where it is none.
func (x exchange) frames() []codec.Frame {
	var frames []codec.Frame
	for event, err := range sse.Read(bytes.NewBufferString(x.ResponseSSE), &sse.ReadConfig{MaxEventSize: 256 << 20}) {
		if err != nil {
			break
		}
		if event.Data != "" {
			frames = append(frames, codec.Frame{Event: event.Type, Data: []byte(event.Data)})
		}
	}
	return frames
}
