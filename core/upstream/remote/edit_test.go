package remote_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/genway/genway/codec/images"
	"github.com/genway/genway/core/upstream/remote"
	genwayv1 "github.com/genway/genway/gen/genway/v1"
)

// editing is a form as a caller has written it, and editingType its content type.
const (
	editing = "--a b'c\r\nContent-Disposition: form-data; name=\"image\"; filename=\"x.png\"\r\nX-Other: 1\r\n\r\n\x89PNG\r\n\x1a\n\x00\r\n--a b'c\r\ncontent-disposition:form-data;name=prompt\r\n\r\n a fox \r\n" +
		"--a b'c\r\nContent-Disposition: form-data; name=\"model\"\r\n\r\nm\r\n--a b'c--"
	editingType = `multipart/form-data; boundary="a b'c"`
)

// A caller's form passes byte for byte to an upstream of the protocol, and is made anew for another model or a direct
// caller, with the bytes of the image unchanged.
func TestEdits(t *testing.T) {
	wire := &genwayv1.WireMessage{Protocol: genwayv1.Protocol_PROTOCOL_IMAGES, Json: []byte(editing)}
	const anew = "--genway-form-0\r\nContent-Disposition: form-data; name=\"model\"\r\n\r\nMODEL\r\n--genway-form-0\r\nContent-Disposition: form-data; name=\"prompt\"\r\n\r\n a fox \r\n" +
		"--genway-form-0\r\nContent-Disposition: form-data; name=\"image\"; filename=\"x.png\"\r\nContent-Type: image/png\r\n\r\n\x89PNG\r\n\x1a\n\x00\r\n--genway-form-0--\r\n"
	for name, c := range map[string]struct {
		model, path string
		wire        *genwayv1.WireMessage
		body, kind  string
		at          string
	}{
		"as it is":         {"m", "", wire, editing, editingType, "/v1/images/edits"},
		"another model":    {"n", "", wire, strings.Replace(anew, "MODEL", "n", 1), "multipart/form-data; boundary=genway-form-0", "/v1/images/edits"},
		"without its body": {"m", "", &genwayv1.WireMessage{Protocol: wire.Protocol}, strings.Replace(anew, "MODEL", "m", 1), "multipart/form-data; boundary=genway-form-0", "/v1/images/edits"},
		"direct":           {"m", "/my/draw", nil, strings.Replace(anew, "MODEL", "m", 1), "multipart/form-data; boundary=genway-form-0", "/my/edits"},
	} {
		t.Run(name, func(t *testing.T) {
			var asked, kind, at string
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				body, _ := io.ReadAll(r.Body)
				asked, kind, at = string(body), r.Header.Get("Content-Type"), r.URL.Path
				_, _ = io.WriteString(w, `{"created":7,"data":[{"b64_json":"AQ=="}]}`)
			}))
			defer server.Close()
			transport := remote.NewTransport(remote.Way{})
			defer transport.CloseIdleConnections()
			u, err := remote.New(remote.Config{Protocol: genwayv1.Protocol_PROTOCOL_IMAGES, BaseURL: server.URL, Path: c.path, HTTP: transport})
			if err != nil {
				t.Fatal(err)
			}
			req, err := images.Codec{}.DecodeEdit([]byte(editing), editingType)
			if err != nil {
				t.Fatal(err)
			}
			req.Model, req.Wire = c.model, c.wire
			resp, err := u.GenerateImage(t.Context(), req.GenerateImageRequest)
			if err != nil || len(resp.GetImages()) != 1 || (resp.GetWire() != nil) != (c.wire != nil) {
				t.Errorf("%v, %v", resp, err)
			}
			if asked != c.body || kind != c.kind || at != c.at {
				t.Errorf("asked %s %s\n%q\nwant\n%q", at, kind, asked, c.body)
			}
		})
	}
}
