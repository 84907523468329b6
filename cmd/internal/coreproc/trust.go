package coreproc

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/genway/genway/cmd/internal/cli"
	"github.com/genway/genway/core/auth"
	"github.com/genway/genway/internal/certs"
)

// TrustFlags name the credential by which the core knows an edge. A unix socket needs
// none of them: only the core's own user may connect to it.
type TrustFlags struct {
	SecretFile string `name:"edge-secret-file" env:"GENWAY_EDGE_SECRET_FILE" type:"existingfile" placeholder:"FILE" group:"gRPC side:" help:"File with the secret shared with edges."`
	Cert       string `name:"grpc-cert" env:"GENWAY_GRPC_CERT" type:"existingfile" placeholder:"FILE" group:"gRPC side:" help:"PEM certificate of the gRPC side; turns TLS on."`
	Key        string `name:"grpc-key" env:"GENWAY_GRPC_KEY" type:"existingfile" placeholder:"FILE" group:"gRPC side:" help:"PEM key of that certificate."`
	EdgeCA     string `name:"edge-ca" env:"GENWAY_EDGE_CA" type:"existingfile" placeholder:"FILE" group:"gRPC side:" help:"Authority of the edges' client certificates (PEM)."`
	ClientCA   string `name:"grpc-client-ca" env:"GENWAY_GRPC_CLIENT_CA" type:"existingfile" placeholder:"FILE" group:"gRPC side:" help:"Authorities of direct callers' certificates (PEM), for keys that require one."`
}

// trust returns whom the core takes for an edge, and the certificates of its listener; nil
// is cleartext.
func (f TrustFlags) trust() (auth.Trust, *certs.Source, error) {
	trusts := []auth.Trust{auth.TrustUnixSocket}
	if f.SecretFile != "" {
		secret, err := os.ReadFile(f.SecretFile)
		if err != nil {
			return nil, nil, fmt.Errorf("--edge-secret-file: %w", err)
		}
		text := strings.TrimSpace(string(secret))
		if len(text) < minSecret {
			return nil, nil, fmt.Errorf("--edge-secret-file %s: the secret has %d characters; at least %d are needed", f.SecretFile, len(text), minSecret)
		}
		trusts = append(trusts, auth.TrustSecret(text))
	}
	switch {
	case (f.Cert == "") != (f.Key == ""):
		return nil, nil, cli.UsageError{Err: errors.New("--grpc-cert and --grpc-key go together")}
	case f.Cert == "" && f.EdgeCA != "":
		return nil, nil, cli.UsageError{Err: errors.New("--edge-ca needs --grpc-cert and --grpc-key")}
	case f.Cert == "" && f.ClientCA != "":
		return nil, nil, cli.UsageError{Err: errors.New("--grpc-client-ca needs --grpc-cert and --grpc-key")}
	case f.Cert == "":
		return auth.TrustAny(trusts...), nil, nil
	}
	files := certs.Files{Pairs: []certs.Pair{{Cert: f.Cert, Key: f.Key}}}
	for _, file := range []string{f.EdgeCA, f.ClientCA} {
		if file != "" {
			files.Authorities = append(files.Authorities, file)
		}
	}
	source, err := certs.Open(files)
	if err != nil {
		return nil, nil, fmt.Errorf("TLS of --grpc: %w", err)
	}
	if f.EdgeCA != "" {
		trusts = append(trusts, auth.TrustCertificate(func() []*x509.Certificate { return source.Current().Authorities[0] }))
	}
	return auth.TrustAny(trusts...), source, nil
}

// grpcTLS is how the listener is encrypted; nil is not at all.
func grpcTLS(source *certs.Source) *tls.Config {
	if source == nil {
		return nil
	}
	return source.Server(&tls.Config{MinVersion: tls.VersionTLS13, NextProtos: []string{"h2"}})
}

// minSecret is the least length of a shared secret, in characters.
const minSecret = 16
