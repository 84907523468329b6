package identity

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/hmac"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha256"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"math/big"
	"strconv"
	"sync"
)

// key signs tokens, by either algorithm.
type key struct {
	number int
	curve  *ecdsa.PrivateKey
	rsa    func() *rsa.PrivateKey
}

func newKey(number int) *key {
	curve, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		panic(err)
	}
	return &key{number: number, curve: curve, rsa: sync.OnceValue(func() *rsa.PrivateKey {
		made, err := rsa.GenerateKey(rand.Reader, 2048)
		if err != nil {
			panic(err)
		}
		return made
	})}
}

func (k *key) id() string { return "k" + strconv.Itoa(k.number) }

// public returns the key as JSON Web Key for tokens of an algorithm.
func (k *key) public(algorithm string) map[string]any {
	if algorithm == "RS256" {
		public := k.rsa().PublicKey
		return map[string]any{"kty": "RSA", "use": "sig", "alg": "RS256", "kid": k.id(), "n": encode(public.N.Bytes()), "e": encode(big.NewInt(int64(public.E)).Bytes())}
	}
	point, err := k.curve.PublicKey.Bytes()
	if err != nil {
		panic(err)
	}
	return map[string]any{"kty": "EC", "crv": "P-256", "use": "sig", "alg": "ES256", "kid": k.id(), "x": encode(point[1:33]), "y": encode(point[33:])}
}

// sign makes a JSON Web Token.
func (k *key) sign(algorithm, secret string, claims map[string]any) string {
	name := algorithm
	switch algorithm {
	case "":
		name = "ES256"
	case "public":
		name = "HS256"
	}
	signed := encode(marshal(map[string]any{"alg": name, "typ": "JWT", "kid": k.id()})) + "." + encode(marshal(claims))
	sum := sha256.Sum256([]byte(signed))
	var signature []byte
	switch algorithm {
	case "":
		r, s, err := ecdsa.Sign(rand.Reader, k.curve, sum[:])
		if err != nil {
			panic(err)
		}
		signature = append(r.FillBytes(make([]byte, 32)), s.FillBytes(make([]byte, 32))...)
	case "RS256":
		var err error
		if signature, err = rsa.SignPKCS1v15(rand.Reader, k.rsa(), crypto.SHA256, sum[:]); err != nil {
			panic(err)
		}
	case "HS256":
		signature = mac([]byte(secret), signed)
	case "public":
		der, err := x509.MarshalPKIXPublicKey(&k.curve.PublicKey)
		if err != nil {
			panic(err)
		}
		signature = mac(der, signed)
	case "none":
	default:
		panic(fmt.Sprintf("identity: no algorithm %q", algorithm))
	}
	return signed + "." + encode(signature)
}

func mac(secret []byte, signed string) []byte {
	sum := hmac.New(sha256.New, secret)
	sum.Write([]byte(signed))
	return sum.Sum(nil)
}

func marshal(v any) []byte {
	text, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return text
}

func encode(raw []byte) string { return base64.RawURLEncoding.EncodeToString(raw) }

// random returns a text that cannot be guessed.
func random() string { return rand.Text() }
