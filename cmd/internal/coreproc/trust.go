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
)

// TrustFlags say by what credential the core knows an edge. A unix socket needs
// none of them: only the core's own user may connect to it.
type TrustFlags struct {
	SecretFile string `name:"edge-secret-file" env:"GENWAY_EDGE_SECRET_FILE" type:"existingfile" placeholder:"FILE" help:"File with the secret shared with edges."`
	Cert       string `name:"grpc-cert" env:"GENWAY_GRPC_CERT" type:"existingfile" placeholder:"FILE" help:"PEM certificate of the gRPC side; turns TLS on."`
	Key        string `name:"grpc-key" env:"GENWAY_GRPC_KEY" type:"existingfile" placeholder:"FILE" help:"PEM key of that certificate."`
	EdgeCA     string `name:"edge-ca" env:"GENWAY_EDGE_CA" type:"existingfile" placeholder:"FILE" help:"PEM certificates of the authority whose client certificates make an edge."`
}

func (f TrustFlags) trust() (auth.Trust, *tls.Config, error) {
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
	if f.Cert == "" && f.Key == "" {
		if f.EdgeCA != "" {
			return nil, nil, cli.UsageError{Err: errors.New("--edge-ca needs --grpc-cert and --grpc-key")}
		}
		return auth.TrustAny(trusts...), nil, nil
	}
	pair, err := tls.LoadX509KeyPair(f.Cert, f.Key)
	if err != nil {
		return nil, nil, fmt.Errorf("--grpc-cert, --grpc-key: %w", err)
	}
	config := &tls.Config{MinVersion: tls.VersionTLS13, Certificates: []tls.Certificate{pair}}
	if f.EdgeCA != "" {
		pem, err := os.ReadFile(f.EdgeCA)
		if err != nil {
			return nil, nil, fmt.Errorf("--edge-ca: %w", err)
		}
		config.ClientCAs = x509.NewCertPool()
		if !config.ClientCAs.AppendCertsFromPEM(pem) {
			return nil, nil, fmt.Errorf("--edge-ca %s: no certificate in it", f.EdgeCA)
		}
		config.ClientAuth = tls.VerifyClientCertIfGiven
		trusts = append(trusts, auth.TrustCertificate)
	}
	return auth.TrustAny(trusts...), config, nil
}

// minSecret is the least length of a shared secret, in characters.
const minSecret = 16
