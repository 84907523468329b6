package openid

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"strconv"
	"strings"
	"time"
)

// MaxAge is how long a sign-in may take at the identity provider.
const MaxAge = 10 * time.Minute

// secretLength is how many random bytes an attempt has: 256 bits, as RFC 7636 section 7.1 asks of
// a verifier.
const secretLength = 32

// An Attempt is a sign-in that began. Its state, nonce and verifier derive from one secret, which
// the browser alone keeps.
type Attempt struct {
	// To is the path of the console that the sign-in leads to.
	To     string
	secret [secretLength]byte
	began  time.Time
}

func newAttempt(to string, now time.Time) Attempt {
	a := Attempt{To: to, began: now.Truncate(time.Second)}
	_, _ = rand.Read(a.secret[:]) // never fails
	return a
}

// derive returns the attempt's text for a purpose, 43 characters of base64url.
func (a Attempt) derive(purpose string) string {
	sum := sha256.New()
	for _, part := range []string{purpose, string(a.secret[:]), strconv.FormatInt(a.began.Unix(), 10), a.To} {
		sum.Write([]byte(strconv.Itoa(len(part)) + ":" + part))
	}
	return base64.RawURLEncoding.EncodeToString(sum.Sum(nil))
}

// ID names the attempt without telling its secret.
func (a Attempt) ID() string { return a.derive("id") }

// Ends is when the attempt is too old.
func (a Attempt) Ends() time.Time { return a.began.Add(MaxAge) }

// Check refuses an attempt that is too old, or of the future, with a *RefusedError. Clocks of
// consoles may differ by a minute.
func (a Attempt) Check(now time.Time) error {
	if now.After(a.Ends()) || a.began.After(now.Add(time.Minute)) {
		return &RefusedError{Text: "This sign-in took longer than ten minutes. Sign in again."}
	}
	return nil
}

// Text is the attempt as a cookie's value. It is a secret.
func (a Attempt) Text() string {
	encode := base64.RawURLEncoding.EncodeToString
	return encode(a.secret[:]) + "." + strconv.FormatInt(a.began.Unix(), 10) + "." + encode([]byte(a.To))
}

var errAttempt = errors.New("that is no attempt to sign in")

// ParseAttempt reads what Text has given.
func ParseAttempt(text string) (Attempt, error) {
	parts := strings.Split(text, ".")
	if len(parts) != 3 {
		return Attempt{}, errAttempt
	}
	secret, err := base64.RawURLEncoding.DecodeString(parts[0])
	if err != nil || len(secret) != secretLength {
		return Attempt{}, errAttempt
	}
	began, err := strconv.ParseInt(parts[1], 10, 64)
	if err != nil {
		return Attempt{}, errAttempt
	}
	to, err := base64.RawURLEncoding.DecodeString(parts[2])
	if err != nil {
		return Attempt{}, errAttempt
	}
	return Attempt{To: string(to), secret: [secretLength]byte(secret), began: time.Unix(began, 0)}, nil
}
