package clouds

import (
	"crypto"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha256"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"strings"
	"time"
)

// ServiceAccount is a service account of Google Cloud with a key of its own.
type ServiceAccount struct {
	Email string
	key   *rsa.PrivateKey
}

// NewServiceAccount makes one.
func NewServiceAccount(email string) (*ServiceAccount, error) {
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		return nil, err
	}
	return &ServiceAccount{Email: email, key: key}, nil
}

// File returns the account's key file, whose token endpoint is at an address.
func (a *ServiceAccount) File(tokenURI string) ([]byte, error) {
	der, err := x509.MarshalPKCS8PrivateKey(a.key)
	if err != nil {
		return nil, err
	}
	return json.Marshal(map[string]string{
		"type": "service_account", "project_id": "p", "private_key_id": "k1", "client_email": a.Email, "client_id": "1",
		"private_key": string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der})), "token_uri": tokenURI,
	})
}

// Verify demands an assertion of the account for an audience and a scope that is valid now
// (google.aip.dev/auth/4112 and RFC 7523, 3, read 2026-11-22).
func (a *ServiceAccount) Verify(assertion, audience, scope string, now time.Time) error {
	parts := strings.Split(assertion, ".")
	if len(parts) != 3 {
		return errors.New("the assertion is no JWT")
	}
	var header struct{ Alg, Typ, Kid string }
	if err := unpack(parts[0], &header); err != nil || header.Alg != "RS256" || header.Typ != "JWT" || header.Kid != "k1" {
		return fmt.Errorf("the assertion's header is %+v, %w", header, err)
	}
	var claims struct {
		Iss, Scope, Aud string
		Iat, Exp        int64
	}
	if err := unpack(parts[1], &claims); err != nil {
		return err
	}
	signature, err := base64.RawURLEncoding.DecodeString(parts[2])
	if err != nil {
		return err
	}
	sum := sha256.Sum256([]byte(parts[0] + "." + parts[1]))
	if err := rsa.VerifyPKCS1v15(&a.key.PublicKey, crypto.SHA256, sum[:], signature); err != nil {
		return err
	}
	issued, expires := time.Unix(claims.Iat, 0), time.Unix(claims.Exp, 0)
	switch {
	case claims.Iss != a.Email || claims.Aud != audience || claims.Scope != scope:
		return fmt.Errorf("the assertion's claims are %+v", claims)
	case now.Before(issued.Add(-time.Minute)) || !now.Before(expires) || expires.Sub(issued) > time.Hour+time.Minute:
		return fmt.Errorf("the assertion is valid from %v to %v, and it is %v", issued, expires, now)
	}
	return nil
}

func unpack(part string, into any) error {
	raw, err := base64.RawURLEncoding.DecodeString(part)
	if err != nil {
		return err
	}
	return json.Unmarshal(raw, into)
}
