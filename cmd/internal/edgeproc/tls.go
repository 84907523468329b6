package edgeproc

import (
	"errors"
	"fmt"

	"github.com/genway/genway/cmd/internal/cli"
	"github.com/genway/genway/internal/certs"
)

// TLSFlags name the certificates of the JSON side.
type TLSFlags struct {
	HTTPCert     []string `name:"http-cert" env:"GENWAY_HTTP_CERT" type:"existingfile" placeholder:"FILE" help:"PEM certificate of the JSON side, followed by those of its issuers; turns TLS on. Among several, the server name of the client (SNI) selects one."`
	HTTPKey      []string `name:"http-key" env:"GENWAY_HTTP_KEY" type:"existingfile" placeholder:"FILE" help:"PEM key of that certificate; of several, in the same order."`
	HTTPClientCA string   `name:"http-client-ca" env:"GENWAY_HTTP_CLIENT_CA" type:"existingfile" placeholder:"FILE" help:"PEM certificates of the authorities that issue client certificates. Clients need one only if their key requires it."`
}

// open reads the certificates; nil without any.
func (f TLSFlags) open() (*certs.Source, error) {
	switch {
	case len(f.HTTPCert) != len(f.HTTPKey):
		return nil, cli.UsageError{Err: fmt.Errorf("--http-cert names %d files and --http-key %d; each certificate needs its key, in the same order", len(f.HTTPCert), len(f.HTTPKey))}
	case len(f.HTTPCert) == 0 && f.HTTPClientCA != "":
		return nil, cli.UsageError{Err: errors.New("--http-client-ca needs --http-cert and --http-key")}
	case len(f.HTTPCert) == 0:
		return nil, nil //nolint:nilnil // no TLS is no error
	}
	var files certs.Files
	for i, cert := range f.HTTPCert {
		files.Pairs = append(files.Pairs, certs.Pair{Cert: cert, Key: f.HTTPKey[i]})
	}
	if f.HTTPClientCA != "" {
		files.Authorities = []string{f.HTTPClientCA}
	}
	source, err := certs.Open(files)
	if err != nil {
		return nil, fmt.Errorf("TLS of --http: %w", err)
	}
	return source, nil
}

// Scheme is that of the listener's URLs.
func (l Listener) Scheme() string {
	if l.Certificates != nil {
		return "https"
	}
	return "http"
}
