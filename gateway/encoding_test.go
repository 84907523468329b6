package gateway_test

import (
	"bytes"
	"compress/flate"
	"compress/gzip"
	"compress/zlib"
	"fmt"
	"io"
	"strings"
	"testing"
)

// A body is decoded by all of its Content-Encoding or not at all: a proxy that reads only the first
// field, or only the last, would otherwise see another body than the core does (RFC 9110, section 8.4).
func TestContentEncodings(t *testing.T) {
	const plain = `{"model":"m","max_tokens":9,"messages":[{"role":"user","content":"a"}]}`
	zipped := compressed(t, "gzip", plain)
	deflated := compressed(t, "deflate", plain)
	raw := compressed(t, "raw", plain)
	twice := compressed(t, "gzip", zipped)
	const unsupported, broken = "is not supported; send gzip, deflate or none", "the body is not what its content-encoding says"
	for name, c := range map[string]struct {
		fields []string
		body   string
		status int
		says   string
	}{
		"none":                            {nil, plain, 200, ""},
		"identity":                        {[]string{"identity"}, plain, 200, ""},
		"an empty field":                  {[]string{""}, plain, 200, ""},
		"an empty field ahead of gzip":    {[]string{"", "gzip"}, zipped, 200, ""},
		"gzip":                            {[]string{" GZip "}, zipped, 200, ""},
		"x-gzip":                          {[]string{"x-gzip"}, zipped, 200, ""},
		"deflate":                         {[]string{"deflate"}, deflated, 200, ""},
		"gzip in two members":             {[]string{"gzip"}, compressed(t, "gzip", plain[:9]) + compressed(t, "gzip", plain[9:]), 200, ""},
		"gzip in two fields":              {[]string{"gzip", "gzip"}, twice, 415, unsupported},
		"gzip in two fields, done once":   {[]string{"gzip", "gzip"}, zipped, 415, unsupported},
		"gzip twice in a field":           {[]string{"gzip, gzip"}, twice, 415, unsupported},
		"gzip, then another":              {[]string{"gzip", "br"}, zipped, 415, unsupported},
		"identity, then gzip":             {[]string{"identity", "gzip"}, zipped, 415, unsupported},
		"another":                         {[]string{"br"}, plain, 415, unsupported},
		"gzip that is cut":                {[]string{"gzip"}, zipped[:len(zipped)-6], 400, broken},
		"gzip that is cut in its head":    {[]string{"gzip"}, zipped[:5], 400, broken},
		"gzip with something behind it":   {[]string{"gzip"}, zipped + "behind", 400, broken},
		"gzip of another sum":             {[]string{"gzip"}, zipped[:len(zipped)-8] + "\x00\x00\x00\x00" + zipped[len(zipped)-4:], 400, broken},
		"gzip of nothing":                 {[]string{"gzip"}, "", 400, broken},
		"deflate that is cut":             {[]string{"deflate"}, deflated[:len(deflated)-3], 400, broken},
		"deflate with something behind":   {[]string{"deflate"}, deflated + "behind", 400, broken},
		"deflate without its head (zlib)": {[]string{"deflate"}, deflated[2:], 400, broken},
		"raw deflate":                     {[]string{"deflate"}, raw, 200, ""},
		"raw deflate, stored":             {[]string{"deflate"}, compressed(t, "stored", plain), 200, ""},
		"raw deflate that is cut":         {[]string{"deflate"}, raw[:len(raw)-3], 400, broken},
		"raw deflate with more behind it": {[]string{"deflate"}, raw + "behind", 400, broken},
		"deflate of nothing":              {[]string{"deflate"}, "", 400, broken},
		"deflate of one byte":             {[]string{"deflate"}, "x", 400, broken},
		"deflate that is none":            {[]string{"deflate"}, plain, 400, broken},
	} {
		var head strings.Builder
		head.WriteString("POST /v1/messages HTTP/1.1\r\nHost: a\r\nConnection: close\r\nx-api-key: k\r\nanthropic-version: 2023-06-01\r\n")
		for _, field := range c.fields {
			head.WriteString("Content-Encoding: " + field + "\r\n")
		}
		sent := fmt.Sprintf("%sContent-Length: %d\r\n\r\n%s", &head, len(c.body), c.body)
		got, _ := converse(t, sent, 0)
		if !strings.HasPrefix(got, fmt.Sprintf("HTTP/1.1 %d ", c.status)) || !strings.Contains(got, c.says) || c.status != 200 && !strings.Contains(got, `{"type":"error","error":{"type":"invalid_request_error"`) {
			t.Errorf("%s:\n%s", name, got)
		}
	}
}

// compressed compresses text.
func compressed(t *testing.T, coding, text string) string {
	t.Helper()
	var all bytes.Buffer
	var w io.WriteCloser = gzip.NewWriter(&all)
	var err error
	switch coding {
	case "deflate":
		w = zlib.NewWriter(&all)
	case "raw":
		w, err = flate.NewWriter(&all, flate.DefaultCompression)
	case "stored":
		w, err = flate.NewWriter(&all, flate.NoCompression)
	}
	if err != nil {
		t.Fatal(err)
	}
	if _, err := io.WriteString(w, text); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return all.String()
}
