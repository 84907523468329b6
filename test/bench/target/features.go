package target

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"math/big"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// Feature is Genway as one process with a feature taken out by configuration, or put in.
type Feature struct {
	Target
	// In means that it is put in; `genway` of All does not have it.
	In bool
}

// WithFeatures is Genway with all that it has in All, which each Feature is compared with.
const WithFeatures = "genway-features"

// Features returns what a request pays for one by one: each is `genway` but for the one feature. The first is `genway`
// itself.
func Features() []Feature {
	const budgets = ", budgets: [1000000/day, 9000000/month]"
	env := func(variables ...string) change { return change{env: func(Site) []string { return variables }} }
	return []Feature{
		out(WithFeatures, "nothing", change{}),
		out("genway-limitless", "limits, budgets with them", change{config: func(text string) string {
			before, _, _ := strings.Cut(text, "limits:\n")
			return before
		}}),
		out("genway-budgetless", "budgets", change{config: func(text string) string { return strings.ReplaceAll(text, budgets, "") }}),
		out("genway-ledger-off", "the fsync of the ledger (--ledger-sync=off)", change{args: []string{"--ledger-sync", "off"}}),
		in("genway-ledger-each", "an answer waits for its row (--ledger-sync=each)", change{args: []string{"--ledger-sync", "each"}}),
		out("genway-metricless", "metrics", env("OTEL_SDK_DISABLED=true")),
		out("genway-silent", "the log (level error)", env("GENWAY_LOG_LEVEL=error")),
		out("genway-gateless", "the gate of the processor", change{args: []string{"--overload-delay=-1s"}}),
		out("genway-consoleless", "the console, which nobody looks at", change{args: []string{"--console", "off"}}),
		in("genway-unsampled", "traces, none sampled", exporting("always_off")),
		in("genway-sampled", "traces, all sampled", exporting("always_on")),
		in("genway-capturing", "captured bodies", change{keys: []string{"--capture-until", "2h"}}),
		in("genway-encrypted", "TLS", change{encrypted: true}),
	}
}

func out(name, title string, c change) Feature { return Feature{Target: changed(name, title, c)} }
func in(name, title string, c change) Feature {
	return Feature{Target: changed(name, title, c), In: true}
}

// change is what a form of Genway has otherwise.
type change struct {
	config    func(text string) string
	keys      []string // more arguments of genway keys create
	args      []string // more arguments of genway serve
	env       func(Site) []string
	encrypted bool
}

// exporting has spans exported to the upstream, which answers them as it answers any request.
func exporting(sampler string) change {
	return change{env: func(s Site) []string {
		return []string{"OTEL_EXPORTER_OTLP_ENDPOINT=http://" + s.Upstream, "OTEL_METRICS_EXPORTER=none", "OTEL_TRACES_SAMPLER=" + sampler, "OTEL_BSP_MAX_QUEUE_SIZE=65536"}
	}}
}

// changed is Genway as one process with a change.
func changed(name, title string, c change) Target {
	return Target{Name: name, Title: title, Gateway: true, Prepare: func(ctx context.Context, site Site) (*Plan, error) {
		g, err := newGenway(ctx, site, c)
		if err != nil {
			return nil, err
		}
		args := []string{"serve", "--data", g.data, "--config", g.config, "--http", g.address, "--grpc", "unix:" + filepath.Join(site.Dir, "grpc.sock"), "--max-connections-per-address", "0"}
		if c.encrypted {
			cert, key, err := certificate(site.Dir)
			if err != nil {
				return nil, err
			}
			args = append(args, "--http-cert", cert, "--http-key", key)
			g.address = "https://" + g.address
		}
		command := g.command("genway", append(args, c.args...)...)
		if c.env != nil {
			command.Env = c.env(site)
		}
		return g.plan(command), nil
	}}
}

// certificate writes a certificate and its key, which signs it.
func certificate(dir string) (certFile, keyFile string, err error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return "", "", err
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(1), DNSNames: []string{"localhost"}, NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(24 * time.Hour)}
	cert, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		return "", "", err
	}
	secret, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		return "", "", err
	}
	certFile, keyFile = filepath.Join(dir, "cert.pem"), filepath.Join(dir, "key.pem")
	return certFile, keyFile, errors.Join(
		os.WriteFile(certFile, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: cert}), 0o600),
		os.WriteFile(keyFile, pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: secret}), 0o600))
}
