package main

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"encoding/json"
	"fmt"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"

	"github.com/genway/genway/codec"
	"github.com/tmaxmax/go-sse"
)

// exchange is one line of the corpus.
type exchange struct {
	ID          string          `json:"id"`
	Protocol    string          `json:"protocol"`
	Host        string          `json:"host"`
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

// agents are the captures of programs that work by themselves; the others are of SDKs.
var agents = regexp.MustCompile(`^(claude-code|codex|gemini-cli|opencode|pi)[-/]`)

// requestPaths are the paths of requests for text, by protocol.
var requestPaths = map[string]*regexp.Regexp{
	"chat": regexp.MustCompile(`/chat/completions$`), "responses": regexp.MustCompile(`/responses$`),
	"messages": regexp.MustCompile(`/messages$`), "generatecontent": regexp.MustCompile(`:(stream)?[gG]enerateContent$`),
}

// loadCaptures reads the requests of clients below a folder. No answers are recorded with them.
func loadCaptures(folder string) ([]exchange, error) {
	var all []exchange
	err := filepath.WalkDir(folder, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() || filepath.Ext(path) != ".json" {
			return err
		}
		text, err := os.ReadFile(path) //nolint:gosec // in the folder its user names
		if err != nil {
			return err
		}
		var c struct {
			Path     string
			Body     json.RawMessage
			Response struct{ Status int }
		}
		if err := json.Unmarshal(text, &c); err != nil {
			return fmt.Errorf("%s: %w", path, err)
		}
		id, err := filepath.Rel(folder, path)
		if err != nil {
			return err
		}
		var asked struct{ Stream bool }
		for _, name := range names {
			if c.Response.Status == http.StatusOK && requestPaths[name].MatchString(c.Path) && json.Unmarshal(c.Body, &asked) == nil {
				all = append(all, exchange{ID: filepath.ToSlash(id), Protocol: name, Path: c.Path, Request: c.Body,
					Stream: asked.Stream || strings.Contains(c.Path, ":stream")})
			}
		}
		return nil
	})
	return all, err
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
