package core_test

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/binary"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/genway/genway/core"
	genwayv1 "github.com/genway/genway/gen/genway/v1"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"
)

// rawCodec sends bytes as they are.
type rawCodec struct{}

func (rawCodec) Marshal(v any) ([]byte, error)      { return *v.(*[]byte), nil }
func (rawCodec) Unmarshal(data []byte, v any) error { *v.(*[]byte) = bytes.Clone(data); return nil }
func (rawCodec) Name() string                       { return "proto" }

// A message that cannot be read is the caller's mistake: it is refused as such, in plain words and
// with the identifier of the request, unary and streamed.
func TestU44UnreadableMessages(t *testing.T) {
	conn, err := grpc.NewClient(serveRaw(t, core.ServerConfig{MaxMessageBytes: 1 << 20}), grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	deep := []byte("x")
	for range 10_001 { // a part of a result of a part ...
		deep = protowire.AppendBytes(protowire.AppendTag(nil, 3, protowire.BytesType), deep)
		deep = protowire.AppendBytes(protowire.AppendTag(nil, 8, protowire.BytesType), deep)
	}
	deep = protowire.AppendBytes(protowire.AppendTag(nil, 2, protowire.BytesType), protowire.AppendBytes(protowire.AppendTag(nil, 2, protowire.BytesType), deep))
	for name, c := range map[string]struct {
		messages [][]byte
		code     codes.Code
		says     string
	}{
		"no protobuf":   {[][]byte{[]byte("\xff\xff\xff")}, codes.InvalidArgument, "the request message is not a genway.v1.GenerateTextRequest"},
		"cut":           {[][]byte{[]byte("\x0a\x09m")}, codes.InvalidArgument, "the request message is not a genway.v1.GenerateTextRequest"},
		"no UTF-8":      {[][]byte{[]byte("\x0a\x02\xff\xfe")}, codes.InvalidArgument, "the request message has a text that is not UTF-8"},
		"too deep":      {[][]byte{deep}, codes.InvalidArgument, "the request message is nested too deeply"},
		"too large":     {[][]byte{make([]byte, 1<<20+1)}, codes.ResourceExhausted, "the request message has 1048577 bytes; at most 1048576 are accepted"},
		"none":          {nil, codes.InvalidArgument, "the call has no request message"},
		"more than one": {[][]byte{{}, {}}, codes.InvalidArgument, "the call has more than one request message"},
	} {
		for _, method := range []string{textMethod, streamMethod} {
			t.Run(name+" "+method, func(t *testing.T) {
				ctx, cancel := context.WithTimeout(metadata.AppendToOutgoingContext(t.Context(), internalKey...), time.Minute)
				defer cancel()
				stream, err := conn.NewStream(ctx, &grpc.StreamDesc{ClientStreams: true, ServerStreams: true}, method, grpc.ForceCodec(rawCodec{}))
				if err != nil {
					t.Fatal(err)
				}
				for _, m := range c.messages {
					_ = stream.SendMsg(&m) // the answer says what became of it
				}
				_ = stream.CloseSend()
				err = stream.RecvMsg(new([]byte))
				st := status.Convert(err)
				if st.Code() != c.code || st.Message() != c.says {
					t.Errorf("%v", err)
				}
				header, _ := stream.Header()
				id := detail(t, err).GetRequestId()
				if got := append(header.Get(core.RequestIDKey), stream.Trailer().Get(core.RequestIDKey)...); !strings.HasPrefix(id, "req_") || len(got) == 0 || got[0] != id {
					t.Errorf("%v names %q, the metadata %q", err, id, got)
				}
				if detail(t, err).GetKind() == genwayv1.ErrorKind_ERROR_KIND_INTERNAL {
					t.Errorf("%v", detail(t, err))
				}
			})
		}
	}
}

// Framing that is wrong is the caller's mistake, too.
func TestU44UnreadableFrames(t *testing.T) {
	address := serveRaw(t, core.ServerConfig{})
	for name, c := range map[string]struct{ bytes, status string }{
		"a head that is cut":    {"\x00\x00", "3"},
		"a message that is cut": {"\x00\x00\x00\x00\x09\x0a", "3"},
		"compressed":            {"\x01\x00\x00\x00\x01\x00", "12"},
	} {
		conn := dialRaw(t, address)
		stream := conn.call(textMethod, internalKey...)
		conn.must(conn.framer.WriteData(stream, true, []byte(c.bytes)))
		if got := conn.status(stream); got != c.status {
			t.Errorf("%s: status %s, want %s", name, got, c.status)
		}
	}
}

// Messages that are compressed by gzip are taken within the bounds, which hold for what they inflate to, of direct callers,
// of strangers and of edges.
func TestU44CompressedMessages(t *testing.T) {
	const most = 5 << 20
	address := serveRaw(t, core.ServerConfig{MaxMessageBytes: most})
	zip := func(size int, message []byte) string {
		var b bytes.Buffer
		z := gzip.NewWriter(&b)
		_, err := z.Write(message)
		_, err2 := z.Write(make([]byte, size-len(message)))
		if err := errors.Join(err, err2, z.Close()); err != nil {
			t.Fatal(err)
		}
		return b.String()
	}
	hello, err := proto.Marshal(request())
	if err != nil {
		t.Fatal(err)
	}
	// padded is the request with an unknown field of zeros, of so many bytes in all.
	padded := func(size int) string {
		head := protowire.AppendTag(slices.Clone(hello), 1000, protowire.BytesType)
		return zip(size, protowire.AppendVarint(head, uint64(size-len(head)-protowire.SizeVarint(uint64(size)))))
	}
	good := zip(len(hello), hello)
	const healthMethod = "/grpc.health.v1.Health/Check"
	edge := []string{"authorization", "Bearer chat", "genway-protocol", "chat_completions", "genway-edge-secret", edgeSecretOfTests}
	for name, c := range map[string]struct {
		method        string
		headers       []string
		coding, bytes string
		status        string
	}{
		"gzip":                             {textMethod, internalKey, "gzip", good, "0"},
		"gzip in two members":              {textMethod, internalKey, "gzip", zip(3, hello[:3]) + zip(len(hello)-3, hello[3:]), "0"},
		"4 MiB":                            {textMethod, internalKey, "gzip", padded(4 << 20), "0"},
		"gzip of nothing":                  {textMethod, internalKey, "gzip", zip(0, nil), "3"}, // which has no model
		"no bytes":                         {textMethod, internalKey, "gzip", "", "3"},
		"no gzip":                          {textMethod, internalKey, "gzip", string(hello), "3"},
		"gzip that is cut":                 {textMethod, internalKey, "gzip", good[:len(good)-5], "3"},
		"gzip that is cut in its head":     {textMethod, internalKey, "gzip", good[:5], "3"},
		"gzip of another sum":              {textMethod, internalKey, "gzip", good[:len(good)-8] + "\x00\x00\x00\x00" + good[len(good)-4:], "3"},
		"gzip with something behind it":    {textMethod, internalKey, "gzip", good + "behind", "3"},
		"one byte too many":                {textMethod, internalKey, "gzip", padded(most + 1), "8"},
		"a bomb":                           {textMethod, internalKey, "gzip", padded(1 << 28), "8"},
		"no coding":                        {textMethod, internalKey, "", good, "12"},
		"identity":                         {textMethod, internalKey, "identity", good, "12"},
		"another coding":                   {textMethod, internalKey, "br", good, "12"},
		"a stranger's check":               {healthMethod, nil, "gzip", zip(0, nil), "0"},
		"a stranger's bomb":                {healthMethod, nil, "gzip", padded(1 << 28), "8"},
		"a bomb without a key":             {textMethod, nil, "gzip", padded(1 << 28), "16"},
		"an edge":                          {textMethod, edge, "gzip", good, "0"},
		"an edge that sends no gzip":       {textMethod, edge, "gzip", string(hello), "13"},
		"a bomb from an edge":              {textMethod, edge, "gzip", padded(1 << 28), "8"},
		"an edge with something behind it": {textMethod, edge, "gzip", good + "behind", "13"},
	} {
		t.Run(name, func(t *testing.T) {
			conn := dialRaw(t, address)
			headers := slices.Clone(c.headers)
			if c.coding != "" {
				headers = append(headers, "grpc-encoding", c.coding)
			}
			stream := conn.call(c.method, headers...)
			body := append(binary.BigEndian.AppendUint32([]byte{1}, uint32(len(c.bytes))), c.bytes...)
			for len(body) > 0 && conn.ended[stream] == "" {
				n := min(len(body), 16<<10)
				conn.must(conn.framer.WriteData(stream, n == len(body), body[:n]))
				body = body[n:]
			}
			if got := conn.status(stream); got != c.status {
				t.Errorf("status %s, want %s", got, c.status)
			}
		})
	}
}
