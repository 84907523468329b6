package certs_test

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/pem"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/genway/genway/internal/certs"
	"github.com/genway/genway/internal/certs/certtest"
)

// An error of a file names the file, and holds no part of a key.
func TestBadFilesAreNamed(t *testing.T) {
	dir := t.TempDir()
	authority := certtest.New(t, "ca")
	_, cert, key := authority.Issue(t, certtest.Names{DNS: []string{"a.example"}})
	_, _, other := authority.Issue(t, certtest.Names{})
	rsa := bytes.Replace(key, []byte("BEGIN PRIVATE KEY"), []byte("BEGIN ENCRYPTED PRIVATE KEY"), 1)
	rsa = bytes.Replace(rsa, []byte("END PRIVATE KEY"), []byte("END ENCRYPTED PRIVATE KEY"), 1)
	for name, c := range map[string]struct {
		cert, key []byte // nil is no file
		says      []string
	}{
		"no certificate file": {nil, key, []string{"c.pem: no such file"}},
		"no key file":         {cert, nil, []string{"k.pem: no such file"}},
		"empty certificate":   {[]byte{}, key, []string{"c.pem: no certificate in it; expected PEM"}},
		"empty key":           {cert, []byte{}, []string{"k.pem: no private key in it; expected PEM"}},
		"swapped":             {key, cert, []string{"c.pem: no certificate in it, but a private key"}},
		"twice":               {cert, cert, []string{"k.pem: no private key in it, but a certificate"}},
		"another's key":       {cert, other, []string{"k.pem: the key does not belong to the first certificate in", "c.pem (a.example)"}},
		"encrypted":           {cert, rsa, []string{"k.pem: the private key is encrypted"}},
		"no certificate":      {bytes.ReplaceAll(cert, []byte("CERTIFICATE"), []byte("GARBAGE")), key, []string{"c.pem: no certificate in it"}},
		"malformed":           {pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: []byte("x")}), key, []string{"c.pem: certificate 1 in it is malformed"}},
		"half of a chain":     {append(bytes.Clone(cert), authority.PEM()[:300]...), key, []string{"c.pem: only 1 of the 2 PEM blocks in it are whole"}},
		"damaged chain":       {append(bytes.Replace(authority.PEM(), []byte("\nMII"), []byte("\n!!!"), 1), cert...), key, []string{"c.pem: only "}},
		"key of nonsense":     {cert, pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: []byte("secret")}), []string{"k.pem: no private key that can be used"}},
	} {
		t.Run(name, func(t *testing.T) {
			sub := filepath.Join(dir, strings.ReplaceAll(name, " ", "-"))
			if err := os.Mkdir(sub, 0o700); err != nil {
				t.Fatal(err)
			}
			pair := certs.Pair{Cert: filepath.Join(sub, "c.pem"), Key: filepath.Join(sub, "k.pem")}
			for file, text := range map[string][]byte{pair.Cert: c.cert, pair.Key: c.key} {
				if text != nil {
					certtest.Write(t, file, text)
				}
			}
			_, err := pair.Read()
			if err == nil {
				t.Fatal("it was read")
			}
			for _, want := range c.says {
				if !strings.Contains(err.Error(), want) {
					t.Errorf("no %q in %q", want, err)
				}
			}
			if strings.Contains(err.Error(), "secret") || strings.Contains(err.Error(), "\n") {
				t.Errorf("%q", err)
			}
		})
	}
}

// Keys of the forms that programs write are read: PKCS#8, SEC 1, with parameters before.
func TestKeysAreRead(t *testing.T) {
	dir := t.TempDir()
	authority := certtest.New(t, "ca")
	pair := authority.Files(t, dir, "a", certtest.Names{})
	text, err := os.ReadFile(pair.Key)
	if err != nil {
		t.Fatal(err)
	}
	block, _ := pem.Decode(text)
	parsed, err := x509.ParsePKCS8PrivateKey(block.Bytes)
	if err != nil {
		t.Fatal(err)
	}
	key, ok := parsed.(*ecdsa.PrivateKey)
	if !ok {
		t.Fatalf("%T", parsed)
	}
	der, err := x509.MarshalECPrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	parameters := pem.EncodeToMemory(&pem.Block{Type: "EC PARAMETERS", Bytes: []byte{1}})
	certtest.Write(t, pair.Key, append(parameters, pem.EncodeToMemory(&pem.Block{Type: "EC PRIVATE KEY", Bytes: der})...))
	if _, err := pair.Read(); err != nil {
		t.Error(err)
	}
	// One that is good of itself and the certificate's in kind is still not the certificate's.
	if key, err = ecdsa.GenerateKey(elliptic.P256(), rand.Reader); err != nil {
		t.Fatal(err)
	}
	if der, err = x509.MarshalECPrivateKey(key); err != nil {
		t.Fatal(err)
	}
	certtest.Write(t, pair.Key, pem.EncodeToMemory(&pem.Block{Type: "EC PRIVATE KEY", Bytes: der}))
	if _, err := pair.Read(); err == nil {
		t.Error("another's key was taken")
	}
}
