package gateway

import (
	"bytes"
	"compress/gzip"
	"errors"
	"io"
	"net/http/httputil"
	"strings"
	"testing"

	"github.com/genway/genway/codec/fault"
)

// A body that ends before its end is no body, even if what came of it is a whole object.
func TestBodiesThatAreCut(t *testing.T) {
	const object = `{"model":"m"}`
	var zipped bytes.Buffer
	z := gzip.NewWriter(&zipped)
	_, _ = io.WriteString(z, object)
	_ = z.Flush()
	plain, err := gzip.NewReader(&zipped)
	if err != nil {
		t.Fatal(err)
	}
	for name, r := range map[string]io.Reader{
		"the last chunk is missing":   httputil.NewChunkedReader(strings.NewReader("d\r\n" + object + "\r\n")),
		"a chunk is cut":              httputil.NewChunkedReader(strings.NewReader("e\r\n" + object)),
		"the end of gzip is missing":  plain,
		"the reader says it at first": io.MultiReader(strings.NewReader(object), errorReader{}),
	} {
		t.Run(name, func(t *testing.T) {
			body, err := readAll(r, -1, 1<<20, func(int64) error { return nil }, nil)
			if f, ok := errors.AsType[*fault.Error](err); !ok || f.Reason != "BODY_UNREADABLE" {
				t.Fatalf("%q, %v", body, err)
			}
		})
	}
}

type errorReader struct{}

func (errorReader) Read([]byte) (int, error) { return 0, io.ErrUnexpectedEOF }
