package programs

import (
	"bytes"
	"slices"
	"strings"
	"testing"

	"github.com/genway/genway/test/conformance/server"
	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"
)

// refusedStreams sends requests over HTTP/2 that net/http refuses itself, before any handler, and one that
// is good behind each on the same connection.
func refusedStreams(t *testing.T, _ stores) {
	eachForm(t, server.Options{Cleartext: true}, func(t *testing.T, s *server.Server) {
		conn := dialPort(t, s.HTTP)
		good := []string{":method", "GET", ":scheme", "http", ":path", "/livez", ":authority", "a"}
		for _, c := range []struct {
			what   string
			fields []string
			want   string
		}{
			{"a field of HTTP/1", append(slices.Clip(good), "connection", "close"), "400"},
			{"an upgrade", append(slices.Clip(good), "upgrade", "h2c"), "400"},
			{"a coding", append(slices.Clip(good), "transfer-encoding", "chunked"), "400"},
			{"another te", append(slices.Clip(good), "te", "gzip"), "400"},
			{"70 KiB of fields", append(slices.Clone(good), slices.Repeat([]string{"x", strings.Repeat("a", 1000)}, 70)...), "431"},
			{"an upper-case name", append(slices.Clip(good), "X", "a"), "reset"},
			{"no path", good[:4], "reset"},
			{"a path twice", append(slices.Clip(good), ":path", "/"), "reset"},
		} {
			if got := conn.status(c.fields); got != c.want {
				t.Errorf("%s gets %q, want %s", c.what, got, c.want)
			}
			if got := conn.status(good); got != "200" {
				t.Fatalf("behind %s a good request gets %q", c.what, got)
			}
		}
		// What goes far beyond the bound that the server has announced ends the connection.
		if got := conn.status(append(slices.Clone(good), "x", strings.Repeat("a", 80<<10))); got != "EOF" {
			t.Errorf("a field of 80 KiB gets %q", got)
		}
		if got := dialPort(t, s.HTTP).status(good); got != "200" {
			t.Errorf("another connection gets %q", got)
		}
	})
}

// status makes a request without a body, of these fields, and returns the status of its answer, or
// reset where its stream is.
func (c *portConn) status(fields []string) string {
	var block bytes.Buffer
	encoder := hpack.NewEncoder(&block)
	encoder.SetMaxDynamicTableSize(0) // each block stands alone
	for i := 0; i < len(fields); i += 2 {
		_ = encoder.WriteField(hpack.HeaderField{Name: fields[i], Value: fields[i+1]})
	}
	id := c.last + 1
	c.last += 2
	for first := true; first || block.Len() > 0; first = false {
		piece := block.Next(16 << 10)
		var err error
		if first {
			err = c.framer.WriteHeaders(http2.HeadersFrameParam{StreamID: id, BlockFragment: piece, EndStream: true, EndHeaders: block.Len() == 0})
		} else {
			err = c.framer.WriteContinuation(id, block.Len() == 0, piece)
		}
		if err != nil {
			return err.Error()
		}
	}
	for {
		frame, err := c.framer.ReadFrame()
		if err != nil {
			return err.Error()
		}
		switch f := frame.(type) {
		case *http2.MetaHeadersFrame:
			if f.StreamID == id {
				return f.PseudoValue("status")
			}
		case *http2.RSTStreamFrame:
			if f.StreamID == id {
				return "reset"
			}
		}
	}
}
