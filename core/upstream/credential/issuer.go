package credential

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"path/filepath"
	"strings"
	"time"
	"unicode"

	"github.com/genway/genway/internal/smallfile"
	"golang.org/x/oauth2"
)

const (
	// maxAnswer bounds an issuer's answer, and a file or a command's output, in bytes.
	maxAnswer = 1 << 20
	// maxText bounds an issuer's own text in errors, in bytes.
	maxText = 300
)

// issuerClient makes the calls to issuers. Redirects are not followed: a credential is asked
// for at one address. The environment's proxy is used, as for upstreams.
func issuerClient(transport http.RoundTripper) *http.Client {
	return &http.Client{Transport: transport, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
}

// direct reaches the metadata servers of clouds, whose addresses no proxy knows.
func direct() *http.Transport {
	t := http.DefaultTransport.(*http.Transport).Clone() //nolint:forcetypeassert // net/http says so
	t.Proxy = nil
	return t
}

// tokenOf returns the token of an OAuth 2.0 answer and its expiry.
func tokenOf(token *oauth2.Token, err error) (string, time.Time, error) {
	if err != nil {
		return "", time.Time{}, refusal(err)
	}
	return sendable(token.AccessToken, token.Expiry)
}

// sendable demands that a token fits into a header.
func sendable(token string, expires time.Time) (string, time.Time, error) {
	if token == "" {
		return "", time.Time{}, errors.New("the token is empty")
	}
	if strings.ContainsFunc(token, func(c rune) bool { return c < ' ' || c == 0x7f }) {
		return "", time.Time{}, errors.New("the token has more than one line, or characters that no header can hold")
	}
	return token, expires, nil
}

// refusal returns only the status and the code of an error of x/oauth2: the body of the answer may
// repeat what was sent.
func refusal(err error) error {
	refused, ok := errors.AsType[*oauth2.RetrieveError](err)
	if !ok {
		if unreachable, ok := errors.AsType[*url.Error](err); ok {
			return fmt.Errorf("the issuer could not be reached: %w", unreachable.Err)
		}
		return err
	}
	status := 0
	if refused.Response != nil {
		status = refused.Response.StatusCode
	}
	return answered(status, refused.ErrorCode)
}

// answered is the error of an issuer's answer that has no credential.
func answered(status int, code string) error {
	if code = plain(code); code != "" {
		return fmt.Errorf("the issuer answered %d: %s", status, code)
	}
	return fmt.Errorf("the issuer answered %d", status)
}

// plain returns the first words of a text, of characters that can be seen.
func plain(text string) string {
	text = strings.Map(func(c rune) rune {
		if unicode.IsPrint(c) {
			return c
		}
		return ' '
	}, strings.TrimSpace(text))
	return text[:min(len(text), maxText)]
}

// readSecret reads a file that holds a secret and nothing else. The error never has it.
func readSecret(file string) (string, error) {
	text, err := readFile(file)
	if err != nil {
		return "", err
	}
	secret := strings.TrimSpace(strings.TrimPrefix(string(text), "\ufeff"))
	if secret == "" {
		return "", fmt.Errorf("%s is empty", filepath.Base(file))
	}
	return secret, nil
}

// readFile reads a file of a bounded size.
func readFile(file string) ([]byte, error) {
	text, err := smallfile.Read(file, maxAnswer)
	if err != nil {
		return nil, err
	}
	return atMost(text, filepath.Base(file))
}

// readAll reads what is bounded by maxAnswer.
func readAll(r io.Reader, what string) ([]byte, error) {
	text, err := io.ReadAll(io.LimitReader(r, maxAnswer+1))
	if err != nil {
		return nil, err
	}
	return atMost(text, what)
}

func atMost(text []byte, what string) ([]byte, error) {
	if len(text) > maxAnswer {
		return nil, fmt.Errorf("%s has more than %d bytes", what, maxAnswer)
	}
	return text, nil
}
