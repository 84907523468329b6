package credential

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"io"
	"net/http"
	"slices"
	"sync/atomic"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	v4 "github.com/aws/aws-sdk-go-v2/aws/signer/v4"
)

// signer signs requests by AWS Signature Version 4
// (docs.aws.amazon.com/IAM/latest/UserGuide/reference_sigv.html, read 2026-11-22).
type signer struct {
	service, region string
	keys            *cache[aws.Credentials]
	sign            *v4.Signer
	now             func() time.Time
	// offset is by how many nanoseconds the service's clock is ahead of ours, as far as it
	// matters: a signature is refused that is 5 minutes old or of the future.
	offset atomic.Int64
}

func newSigner(name, service, region string, fetch fetcher[aws.Credentials]) *signer {
	secrets := func(keys aws.Credentials) []string {
		return slices.DeleteFunc([]string{keys.SecretAccessKey, keys.SessionToken}, func(s string) bool { return s == "" })
	}
	return &signer{service: service, region: region, keys: newCache(name, fetch, secrets), sign: v4.NewSigner(), now: time.Now}
}

// maxOffset is how much clocks may differ unnoticed.
const maxOffset = 2 * time.Minute

// Authorize signs the request, whose address and headers must be final: all but
// Authorization, User-Agent and some that proxies change are signed.
func (s *signer) Authorize(req *http.Request, body []byte) (func(*http.Response) bool, error) {
	held, err := s.keys.get(req.Context())
	if err != nil {
		return nil, err
	}
	hash := sha256.Sum256(body)
	at := s.now().Add(time.Duration(s.offset.Load()))
	if err := s.sign.SignHTTP(req.Context(), held.value, req, hex.EncodeToString(hash[:]), s.service, s.region, at); err != nil {
		return nil, &Error{Name: s.keys.name, Cause: err}
	}
	return func(resp *http.Response) bool { return s.refused(resp, held) }, nil
}

// clockErrors and keyErrors are the words of AWS for a signature whose time is wrong, and for
// keys that are not, or no longer, known
// (docs.aws.amazon.com/awssupport/latest/user/CommonErrors.html and
// aws-sdk-go-v2/aws/retry.DefaultRetryableErrorCodes and its clock skew codes, read 2026-11-22).
var (
	clockErrors = [][]byte{[]byte("Signature expired"), []byte("Signature not yet current"), []byte("RequestTimeTooSkewed"), []byte("RequestExpired"), []byte("InvalidSignatureException")}
	keyErrors   = [][]byte{[]byte("ExpiredToken"), []byte("security token included in the request is expired"), []byte("security token included in the request is invalid"), []byte("UnrecognizedClientException"), []byte("InvalidClientTokenId")}
)

// maxRefusal is how much of a refusal is read to find out what it is about.
const maxRefusal = 4 << 10

// refused finds out whether an answer is about the signature's time or the keys.
func (s *signer) refused(resp *http.Response, held *lease[aws.Credentials]) bool {
	begun, err := io.ReadAll(io.LimitReader(resp.Body, maxRefusal))
	resp.Body = &resumed{Reader: io.MultiReader(bytes.NewReader(begun), resp.Body), Closer: resp.Body}
	if err != nil {
		return false
	}
	text := slices.Concat([]byte(resp.Header.Get("X-Amzn-Errortype")), []byte("\n"), begun)
	if contains(text, clockErrors) {
		if at, err := http.ParseTime(resp.Header.Get("Date")); err == nil {
			before := time.Duration(s.offset.Load())
			if now := at.Sub(s.now()); (now - before).Abs() > maxOffset {
				s.offset.Store(int64(now))
				return true
			}
		}
	}
	return contains(text, keyErrors) && s.keys.discard(held)
}

func contains(text []byte, words [][]byte) bool {
	return slices.ContainsFunc(words, func(w []byte) bool { return bytes.Contains(text, w) })
}

// resumed is a body of which a part was read, from its beginning.
type resumed struct {
	io.Reader
	io.Closer
}

// Name is the credential's.
func (s *signer) Name() string { return s.keys.name }

// Secrets are the secret key and the session token. The key's id is no secret.
func (s *signer) Secrets() []string { return s.keys.known() }

// Close ends fetching.
func (s *signer) Close() error { return s.keys.close() }
