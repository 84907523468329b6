package shared

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	_ "embed" // the scripts
	"errors"
	"fmt"
	"net"
	"runtime"
	"strings"
	"sync"
	"time"

	"github.com/genway/genway/core/limit/shared/endpoint"
	"github.com/genway/genway/internal/certs"
	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/maintnotifications"
)

// client runs commands on the server that counts, over a bounded pool of connections: on the one
// server, on the primary that Sentinel names, or on the node of a Cluster that has the keys. Each
// command has the deadline of its context, which it must have, and is sent once: one whose answer
// is lost may have been run.
type client struct {
	options *redis.UniversalOptions
	kind    endpoint.Kind
	// key is one of the keys; they are all on one node of a Cluster.
	key string

	mu      sync.Mutex
	current redis.UniversalClient
	closed  bool
}

var errClosed = errors.New("limit: the shared store is closed")

// bufferBytes is the size of a connection's buffers: the answer to a script is a few hundred
// bytes, what is longer is written and read in parts.
const bufferBytes = 8 << 10

// newClient makes a client that connects when it is asked first. The files of a URL with TLS are
// read here.
func newClient(server *endpoint.Endpoint, timeout time.Duration, key string) (*client, error) {
	quiet()
	secure, err := tlsOf(server)
	if err != nil {
		return nil, err
	}
	c := &client{kind: server.Kind, key: key, options: &redis.UniversalOptions{
		Addrs: server.Addresses, DB: server.Database, MasterName: server.Master, IsClusterMode: server.Kind == endpoint.Cluster,
		Username: server.Username, Password: server.Password,
		SentinelUsername: server.SentinelUsername, SentinelPassword: server.SentinelPassword,
		TLSConfig: secure,
		// A command is sent once, and a connection is dialed once for it.
		MaxRetries: -1, DialerRetries: 1,
		DialTimeout: timeout, ReadTimeout: timeout, WriteTimeout: timeout, PoolTimeout: timeout, ContextTimeoutEnabled: true,
		PoolSize: 10 * runtime.GOMAXPROCS(0), PipelinePoolSize: -1,
		ReadBufferSize: bufferBytes, WriteBufferSize: bufferBytes,
		// RESP2 and no names of libraries: nothing that a proxy or an older server refuses.
		Protocol: 2, DisableIdentity: true,
		MaintNotificationsConfig: &maintnotifications.Config{Mode: maintnotifications.ModeDisabled},
	}}
	if server.Network == "unix" {
		path := server.Addresses[0]
		c.options.Dialer = func(ctx context.Context, _, _ string) (net.Conn, error) {
			return new(net.Dialer).DialContext(ctx, "unix", path)
		}
	}
	c.current = c.connect()
	return c, nil
}

func (c *client) connect() redis.UniversalClient {
	switch c.kind {
	case endpoint.Sentinel:
		return redis.NewFailoverClient(c.options.Failover())
	case endpoint.Cluster:
		o := c.options.Cluster()
		// Policies of routing are for commands without keys, and ask the server for its commands.
		o.DisableRoutingPolicies = true
		return redis.NewClusterClient(o)
	case endpoint.Single:
	}
	return redis.NewClient(c.options.Simple())
}

// quiet has go-redis not write to the process's standard error: what fails is returned, too.
var quiet = sync.OnceFunc(func() { redis.SetLogger(silent{}) })

type silent struct{}

func (silent) Printf(context.Context, string, ...any) {}

// tlsOf is the TLS of a URL; nil without. A client's certificate is read for each connection, so
// that a renewed one is followed.
func tlsOf(server *endpoint.Endpoint) (*tls.Config, error) {
	if !server.TLS {
		return nil, nil
	}
	c := &tls.Config{MinVersion: tls.VersionTLS12}
	if server.CAFile != "" {
		authorities, err := certs.ReadAuthorities(server.CAFile)
		if err != nil {
			return nil, fmt.Errorf("ca_file: %w", err)
		}
		c.RootCAs = x509.NewCertPool()
		for _, authority := range authorities {
			c.RootCAs.AddCert(authority)
		}
	}
	if server.CertFile != "" {
		own := certs.Pair{Cert: server.CertFile, Key: server.KeyFile}
		if _, err := own.Read(); err != nil {
			return nil, fmt.Errorf("cert_file and key_file: %w", err)
		}
		c.GetClientCertificate = func(*tls.CertificateRequestInfo) (*tls.Certificate, error) {
			pair, err := own.Read()
			return &pair, err //nolint:wrapcheck // it names the file
		}
	}
	return c, nil
}

// do has a command or several run, and finds out whether the server changed its role.
func (c *client) do(ask func(redis.UniversalClient) error) error {
	c.mu.Lock()
	current, closed := c.current, c.closed
	c.mu.Unlock()
	if closed {
		return errClosed
	}
	err := ask(current)
	if err == nil {
		return nil
	}
	if cluster, ok := current.(*redis.ClusterClient); ok {
		// A node that does not answer may have been replaced by its replica.
		cluster.ReloadState(context.Background())
	} else if redis.IsReadOnlyError(err) { // a replica by now: its name may be another's
		return errors.Join(err, c.reconnect(current))
	}
	return err
}

// once is a command that is not sent again where its answer is lost.
type once struct{ *redis.Cmd }

func (once) NoRetry() bool { return true }

// run runs one command.
func (c *client) run(ctx context.Context, args ...any) (any, error) {
	cmd := redis.NewCmd(ctx, args...)
	err := c.do(func(current redis.UniversalClient) error { return current.Process(ctx, once{cmd}) }) //nolint:contextcheck // the commands have it; the connection is of all requests
	if err != nil {
		return nil, err
	}
	return cmd.Result()
}

// probe asks whether the server counts: it counts a request and a place, by limits far above them.
// That is refused by replicas, by nodes that do not have the keys, while a Cluster is down, by a server
// whose memory is full, and for a user who lacks a command. The names expire. The request is taken by
// itself: a server whose memory is full lets a script go on that has written, as the script of a place does
// before it takes anything.
func (c *client) probe(ctx context.Context) error {
	if _, err := reserveScript.run(ctx, c, []string{c.key}, "probe", probeLease.Microseconds(), "rate", unreached, 1); err != nil {
		return err
	}
	_, err := reserveScript.run(ctx, c, []string{c.key + ":running"}, "probe", probeLease.Microseconds(), "many", unreached)
	return err
}

const (
	// probeLease is how long a probe holds its place.
	probeLease = time.Second
	// unreached is a limit far above what probes count.
	unreached = 1_000_000_000
)

// reconnect has commands from now on go over new connections, unless they do already.
func (c *client) reconnect(from redis.UniversalClient) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed || c.current != from {
		return nil
	}
	c.current = c.connect()
	return from.Close()
}

// close ends the connections.
func (c *client) close() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		return nil
	}
	c.closed = true
	return c.current.Close()
}

// unknown reports whether the server says that it knows no such script: then it has run
// nothing.
func unknown(err error) bool {
	return err != nil && strings.HasPrefix(err.Error(), "NOSCRIPT")
}

var (
	//go:embed amount.lua
	amountText string
	//go:embed meter.lua
	meterText string
	//go:embed reserve.lua
	reserveText string
	//go:embed settle.lua
	settleText string
	//go:embed renew.lua
	renewText string
	//go:embed seed.lua
	seedText string
	//go:embed peek.lua
	peekText string
)

// The scripts. The server runs each as one step.
var (
	reserveScript = newScript(amountText + meterText + reserveText)
	settleScript  = newScript(amountText + meterText + settleText)
	renewScript   = newScript(amountText + meterText + renewText)
	seedScript    = newScript(amountText + seedText)
	peekScript    = newScript(amountText + meterText + peekText)
)

// script is one of them, and how the server calls it.
type script struct{ text, hash string }

func newScript(text string) *script {
	return &script{text: text, hash: redis.NewScript(text).Hash()}
}

// run has the server run the script, and sends it the text where it does not know it.
func (s *script) run(ctx context.Context, c *client, keys []string, args ...any) (any, error) {
	answer, err := c.run(ctx, parameters("EVALSHA", s.hash, keys, args)...)
	if unknown(err) {
		answer, err = c.run(ctx, parameters("EVAL", s.text, keys, args)...)
	}
	return answer, err
}

// load sends the server that has the keys the script.
func (s *script) load(ctx context.Context, c *client) error {
	return c.do(func(current redis.UniversalClient) error { //nolint:contextcheck // the commands have it; the connection is of all requests
		if cluster, ok := current.(*redis.ClusterClient); ok {
			node, err := cluster.MasterForKey(ctx, c.key)
			if err != nil {
				return err
			}
			return node.ScriptLoad(ctx, s.text).Err()
		}
		return current.ScriptLoad(ctx, s.text).Err()
	})
}

// parameters are a command that runs a script.
func parameters(command, script string, keys []string, args []any) []any {
	all := append(make([]any, 0, 3+len(keys)+len(args)), command, script, len(keys))
	for _, key := range keys {
		all = append(all, key)
	}
	return append(all, args...)
}
