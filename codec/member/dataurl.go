package member

import (
	"encoding/base64"
	"net/url"
	"strings"

	"github.com/genway/genway/codec/fault"
	genwayv1 "github.com/genway/genway/gen/genway/v1"
)

// MediaFromURL returns the media that an URL member names: the bytes of a data:
// URL (RFC 2397), else a reference. The URL's scheme is the upstream's business.
func MediaFromURL(raw, param string) (*genwayv1.Media, error) {
	rest, ok := cutScheme(raw)
	if !ok {
		if raw == "" {
			return nil, fault.Invalid(param, "%s is empty; a URL is expected", param)
		}
		return &genwayv1.Media{Source: &genwayv1.Media_Url{Url: raw}}, nil
	}
	head, payload, ok := strings.Cut(rest, ",")
	if !ok {
		return nil, fault.Invalid(param, "%s is a data: URL without a comma", param)
	}
	mediaType, encoded := strings.CutSuffix(head, ";base64")
	if !encoded {
		text, err := url.PathUnescape(payload)
		if err != nil {
			return nil, fault.Invalid(param, "%s is a data: URL with a malformed escape", param)
		}
		return &genwayv1.Media{MimeType: mediaType, Source: &genwayv1.Media_Data{Data: []byte(text)}}, nil
	}
	return MediaFromBase64(mediaType, payload, param)
}

func cutScheme(raw string) (string, bool) {
	if len(raw) < 5 || !strings.EqualFold(raw[:5], "data:") {
		return "", false
	}
	return raw[5:], true
}

// MediaFromBase64 returns the media of a base64 member. Padding may be missing,
// both alphabets are taken, as vendors do.
func MediaFromBase64(mediaType, text, param string) (*genwayv1.Media, error) {
	data, err := DecodeBase64(text)
	if err != nil {
		return nil, fault.Invalid(param, "%s is not valid base64", param)
	}
	return &genwayv1.Media{MimeType: mediaType, Source: &genwayv1.Media_Data{Data: data}}, nil
}

// DecodeBase64 decodes either alphabet, padded or not.
func DecodeBase64(text string) ([]byte, error) {
	if data, err := base64.StdEncoding.DecodeString(text); err == nil {
		return data, nil
	}
	text = strings.TrimRight(text, "=")
	if strings.ContainsAny(text, "-_") {
		return base64.RawURLEncoding.DecodeString(text)
	}
	return base64.RawStdEncoding.DecodeString(text)
}
