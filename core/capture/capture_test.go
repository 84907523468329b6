package capture_test

import (
	"bytes"
	"io"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/genway/genway/core/capture"
	genwayv1 "github.com/genway/genway/gen/genway/v1"
	"google.golang.org/protobuf/encoding/protojson"
)

func begin(b *capture.Budget, most int64, redact ...string) *capture.Capture {
	return capture.Begin(now, b, &capture.Rule{MaxBytes: most, Redact: redact, Until: now.Add(time.Hour)})
}

// A body is kept up to the cap, however it comes, and its size is the whole body's.
func TestCap(t *testing.T) {
	for _, size := range []int{0, 1, 99, 100, 101, 100 + 16<<10, 101 + 16<<10, 1 << 20} {
		b := budget()
		c := begin(b, 100)
		sent := bytes.Repeat([]byte("x"), size)
		answer := c.Call("up", "chat_completions", sent, nil)
		if n, err := io.Copy(io.Discard, answer(bytes.NewReader(sent))); err != nil || n != int64(size) {
			t.Fatalf("the reader has %d bytes of %d: %v", n, size, err)
		}
		if !c.Close() {
			t.Fatal("nothing is to be kept")
		}
		c.Add(capture.CallerRequest, "", sent) // too late
		for _, body := range c.Bodies() {
			if len(body.Data) != min(size, 100) || body.Size != int64(size) || body.Cut != (size > 100) || body.Upstream != "up" || body.Call != 1 {
				t.Errorf("%d bytes: %d kept, %+v", size, len(body.Data), body)
			}
		}
		if held := b.Held(); held > 2*(100+16<<10) {
			t.Errorf("%d bytes: %d are held", size, held)
		}
		c.Release()
		c.Release()
		if b.Held() != 0 || len(c.Bodies()) != 0 {
			t.Errorf("%d bytes are held after all", b.Held())
		}
	}
}

// What is binary, or no UTF-8, is kept as it is where nothing is redacted.
func TestBinary(t *testing.T) {
	data := []byte("\x00\xff\xfe{\"a\":\"\xed\xa0\x80\"}\r\n\x1b[2J")
	c := begin(budget(), 0)
	c.Add(capture.CallerRequest, "messages", data)
	if got := only(t, c); !bytes.Equal(got.Data, data) || got.Cut || got.Redacted {
		t.Errorf("%+v", got)
	}
}

// A credential of the gateway's that an upstream repeats is replaced, also where the cap is in the
// middle of it.
func TestClean(t *testing.T) {
	clean := func(data []byte) []byte {
		return bytes.ReplaceAll(data, []byte("sk-secret-of-ours"), []byte("[REDACTED]"))
	}
	for _, at := range []int{0, 50, 90, 99, 100} {
		c := begin(budget(), 100)
		answer := c.Call("up", "chat_completions", nil, clean)
		if _, err := io.ReadAll(answer(strings.NewReader(strings.Repeat("x", at) + "sk-secret-of-ours" + strings.Repeat("y", 1000)))); err != nil {
			t.Fatal(err)
		}
		c.Close()
		if got := c.Bodies()[1]; bytes.Contains(got.Data, []byte("sk-")) || len(got.Data) != 100 {
			t.Errorf("at %d: %s", at, got.Data)
		}
	}
}

// Of many calls the first two and the last are kept.
func TestCalls(t *testing.T) {
	c := begin(budget(), 0)
	for i := range 7 {
		answer := c.Call("up", "messages", []byte{byte('a' + i)}, nil)
		if _, err := io.ReadAll(answer(strings.NewReader("answer"))); err != nil {
			t.Fatal(err)
		}
	}
	c.Close()
	var calls []int
	for _, b := range c.Bodies() {
		calls = append(calls, b.Call)
	}
	if !slices.Equal(calls, []int{1, 1, 2, 2, 7, 7}) {
		t.Errorf("%v", calls)
	}
}

// Events of a stream are lines of one body; a message too large to be written has its size.
func TestMessages(t *testing.T) {
	event := func(text string) *genwayv1.StreamGenerateTextResponse {
		return &genwayv1.StreamGenerateTextResponse{Payload: &genwayv1.StreamGenerateTextResponse_PartDelta{PartDelta: &genwayv1.PartDelta{Delta: &genwayv1.PartDelta_Text{Text: text}}}}
	}
	c := begin(budget(), 1000)
	for range 3 {
		c.Message(capture.ContractAnswer, "", event("hi"))
	}
	c.Message(capture.UpstreamRequest, "core", &genwayv1.GenerateTextRequest{Model: strings.Repeat("m", 100_000)})
	c.Close()
	bodies := c.Bodies()
	lines := bytes.Split(bytes.TrimSpace(bodies[0].Data), []byte("\n"))
	if len(lines) != 3 || protojson.Unmarshal(lines[2], &genwayv1.StreamGenerateTextResponse{}) != nil {
		t.Errorf("%s", bodies[0].Data)
	}
	if b := bodies[1]; b.Size < 100_000 || !b.Cut || len(b.Data) != 0 || b.Call != 1 || b.Upstream != "core" {
		t.Errorf("%+v", b)
	}
}

// The bodies of a request have a bound together, for one answer of the Admin service.
func TestTotal(t *testing.T) {
	c := begin(budget(), capture.MaxBytes)
	sent := bytes.Repeat([]byte("x"), capture.MaxBytes)
	c.Add(capture.CallerRequest, "", sent)
	for range 3 {
		_, _ = io.ReadAll(c.Call("up", "messages", sent, nil)(bytes.NewReader(sent)))
	}
	c.Close()
	total := 0
	for _, b := range c.Bodies() {
		total += len(b.Data)
	}
	if total != capture.MaxTotal {
		t.Errorf("%d bytes in all", total)
	}
}

// Where the memory for captures is spent, a capture is nothing, and releases what it has.
func TestBudget(t *testing.T) {
	b := capture.NewBudget(10)
	c := begin(b, 0)
	c.Add(capture.CallerRequest, "", []byte("123456"))
	other := begin(b, 0)
	other.Add(capture.CallerRequest, "", []byte("123456"))
	if other.Close() || b.Held() != 6 {
		t.Errorf("%d bytes are held", b.Held())
	}
	if got := only(t, c); string(got.Data) != "123456" {
		t.Errorf("%s", got.Data)
	}
	c.Release()
	if b.Held() != 0 {
		t.Errorf("%d bytes are held", b.Held())
	}
}

// Goroutines of a call may write while another ends it.
func TestConcurrently(t *testing.T) {
	b := budget()
	c := begin(b, 0)
	var group sync.WaitGroup
	for range 4 {
		group.Go(func() {
			for range 100 {
				_, _ = io.ReadAll(c.Call("up", "messages", []byte("{}"), nil)(strings.NewReader("answer")))
				c.Message(capture.ContractAnswer, "", &genwayv1.StreamGenerateTextResponse{})
			}
		})
	}
	group.Go(func() { c.Close(); c.Bodies(); c.Release() })
	group.Wait()
	if b.Held() != 0 {
		t.Errorf("%d bytes are held", b.Held())
	}
	var none *capture.Capture
	none.Add(capture.CallerRequest, "", nil)
	none.Message(capture.ContractAnswer, "", nil)
}
