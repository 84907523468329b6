package clouds

import (
	"bytes"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"
)

// AWSKeys are keys that a Verifier knows.
type AWSKeys struct {
	ID, Secret string
	// Token is the session token that must be sent with them; empty must not be sent.
	Token string
}

// Verifier checks AWS Signature Version 4, as
// docs.aws.amazon.com/IAM/latest/UserGuide/reference_sigv-create-signed-request.html specifies
// it (read 2026-11-22), for all services but S3.
type Verifier struct {
	Region, Service string
	Keys            []AWSKeys
	// Now is the service's clock. Default time.Now.
	Now func() time.Time
}

const algorithm = "AWS4-HMAC-SHA256"

// Verify reports why a request that arrived with a body is refused, in the words of AWS; nil
// for a good one.
func (v Verifier) Verify(r *http.Request, body []byte) error {
	now := time.Now()
	if v.Now != nil {
		now = v.Now()
	}
	header := r.Header.Get("Authorization")
	rest, ok := strings.CutPrefix(header, algorithm+" ")
	if !ok {
		return fmt.Errorf("MissingAuthenticationTokenException: Authorization is %q", header)
	}
	parts := map[string]string{}
	for piece := range strings.SplitSeq(rest, ", ") {
		name, value, _ := strings.Cut(piece, "=")
		parts[name] = value
	}
	date := r.Header.Get("X-Amz-Date")
	at, err := time.Parse("20060102T150405Z", date)
	if err != nil {
		return fmt.Errorf("IncompleteSignatureException: X-Amz-Date is %q", date)
	}
	id, scope, _ := strings.Cut(parts["Credential"], "/")
	if want := date[:8] + "/" + v.Region + "/" + v.Service + "/aws4_request"; scope != want {
		return fmt.Errorf("InvalidSignatureException: Credential should be scoped to %s, got %s", want, scope)
	}
	switch {
	case now.Sub(at) > 5*time.Minute:
		return fmt.Errorf("InvalidSignatureException: Signature expired: %s is now earlier than %s", date, now.Add(-5*time.Minute).UTC().Format("20060102T150405Z"))
	case at.Sub(now) > 5*time.Minute:
		return fmt.Errorf("InvalidSignatureException: Signature not yet current: %s is still later than %s", date, now.Add(5*time.Minute).UTC().Format("20060102T150405Z"))
	}
	known := slices.IndexFunc(v.Keys, func(k AWSKeys) bool { return k.ID == id })
	if known < 0 {
		return errors.New("UnrecognizedClientException: The security token included in the request is invalid")
	}
	keys := v.Keys[known]
	if got := r.Header.Get("X-Amz-Security-Token"); got != keys.Token {
		return errors.New("ExpiredTokenException: The security token included in the request is expired")
	}
	signed := strings.Split(parts["SignedHeaders"], ";")
	if !slices.IsSorted(signed) || !slices.Contains(signed, "host") || !slices.Contains(signed, "x-amz-date") {
		return fmt.Errorf("InvalidSignatureException: SignedHeaders are %q", signed)
	}
	for name := range r.Header {
		if lower := strings.ToLower(name); strings.HasPrefix(lower, "x-amz-") && !slices.Contains(signed, lower) {
			return fmt.Errorf("InvalidSignatureException: %s is not signed", name)
		}
	}
	canonical := strings.Join([]string{
		r.Method, canonicalPath(r), canonicalQuery(r.URL.RawQuery), canonicalHeaders(r, signed), strings.Join(signed, ";"), digest(body),
	}, "\n")
	text := strings.Join([]string{algorithm, date, scope, digest([]byte(canonical))}, "\n")
	key := []byte("AWS4" + keys.Secret)
	for piece := range strings.SplitSeq(scope, "/") {
		key = mac(key, piece)
	}
	if want := hex.EncodeToString(mac(key, text)); want != parts["Signature"] {
		return fmt.Errorf("InvalidSignatureException: The request signature we calculated does not match the signature you provided. The Canonical String for this request should have been\n%s", canonical)
	}
	return nil
}

// canonicalPath escapes each segment of the path as it was sent once more.
func canonicalPath(r *http.Request) string {
	path := r.URL.EscapedPath()
	if path == "" {
		return "/"
	}
	return escape(path, true)
}

func canonicalQuery(raw string) string {
	var pairs []string
	for pair := range strings.SplitSeq(raw, "&") {
		if pair == "" {
			continue
		}
		name, value, _ := strings.Cut(pair, "=")
		name, _ = url.QueryUnescape(name)
		value, _ = url.QueryUnescape(value)
		pairs = append(pairs, escape(name, false)+"="+escape(value, false))
	}
	slices.Sort(pairs)
	return strings.Join(pairs, "&")
}

func canonicalHeaders(r *http.Request, signed []string) string {
	var out bytes.Buffer
	for _, name := range signed {
		values := r.Header.Values(name)
		switch name {
		case "host":
			values = []string{r.Host}
		case "content-length":
			values = []string{strconv.FormatInt(r.ContentLength, 10)}
		}
		for i, value := range values {
			values[i] = strings.Join(strings.Fields(value), " ")
		}
		out.WriteString(name + ":" + strings.Join(values, ",") + "\n")
	}
	return out.String()
}

const unreserved = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~"

func escape(text string, path bool) string {
	var out strings.Builder
	for i := range len(text) {
		if c := text[i]; strings.IndexByte(unreserved, c) >= 0 || path && c == '/' {
			out.WriteByte(c)
		} else {
			fmt.Fprintf(&out, "%%%02X", c)
		}
	}
	return out.String()
}

func digest(data []byte) string {
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:])
}

func mac(key []byte, text string) []byte {
	h := hmac.New(sha256.New, key)
	h.Write([]byte(text))
	return h.Sum(nil)
}
