package admin_test

import (
	"context"
	"log/slog"
	"net"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/metadata"

	"github.com/genway/genway/core"
	"github.com/genway/genway/core/admin"
	"github.com/genway/genway/core/auth"
	"github.com/genway/genway/core/capture/vault"
	"github.com/genway/genway/core/keys"
	"github.com/genway/genway/core/limit"
	"github.com/genway/genway/core/store"
	adminv1 "github.com/genway/genway/gen/genway/admin/v1"
	"github.com/genway/genway/sandbox"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// fixture is a core that serves over TCP, on an SQLite file.
type fixture struct {
	adminv1.AdminClient
	keys  *keys.Service
	store *store.Store
	vault *vault.Vault
	// limiter has a rule for the owner "team".
	limiter *limit.Limiter
	conn    *grpc.ClientConn
	// root is an admin key's raw form, and rootID its id.
	root, rootID string
	log          *lines
}

// lines is a log.
type lines struct {
	mu   sync.Mutex
	text strings.Builder
}

func (l *lines) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(p)
}

func (l *lines) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}

const secret = "an edge's secret, long enough"

func serve(t *testing.T) *fixture {
	t.Helper()
	return serveOn(t, filepath.Join(t.TempDir(), store.FileName))
}

// serveOn serves on another store.
func serveOn(t *testing.T, location string) *fixture {
	t.Helper()
	f := &fixture{log: &lines{}}
	var err error
	if f.store, err = store.Open(t.Context(), store.Config{Location: location}); err != nil {
		t.Fatal(err)
	}
	if f.keys, err = keys.New(keys.Config{Store: f.store.Keys()}); err != nil {
		t.Fatal(err)
	}
	upstream := sandbox.New(sandbox.Config{TextModel: "text", ImageModel: "image"})
	service, err := core.New(core.Config{Upstream: upstream})
	if err != nil {
		t.Fatal(err)
	}
	f.limiter = limit.New(limit.NewMemory(nil), limit.Rules{Owners: []limit.Rule{{Pattern: "team", Limits: limit.Limits{Concurrent: 3, Budgets: []limit.Budget{{Amount: 50, Period: limit.Month}}}}}})
	f.vault = vault.New(vault.Config{Store: f.store.Captures()})
	administration, err := admin.New(admin.Config{Captures: f.vault, Keys: f.keys, Names: f.store, Audit: f.store.Audit(), Usage: f.store.Ledger(), Requests: f.store.Requests(), Limiter: f.limiter})
	if err != nil {
		t.Fatal(err)
	}
	server := core.NewServer(service, core.Interceptors{
		Authenticator: auth.Authenticator{Keys: f.keys, Trust: auth.TrustSecret(secret)},
		Logger:        slog.New(slog.NewTextHandler(f.log, &slog.HandlerOptions{Level: slog.LevelDebug})),
	}, core.ServerConfig{Grace: time.Second, Admin: administration})
	listener, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- server.Serve(ctx, listener) }()
	if f.conn, err = grpc.NewClient(listener.Addr().String(), grpc.WithTransportCredentials(insecure.NewCredentials())); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = f.conn.Close()
		stop()
		if err := <-done; err != nil {
			t.Errorf("serve: %v", err)
		}
		f.vault.Close()
		if err := f.store.Close(); err != nil {
			t.Errorf("close: %v", err)
		}
	})
	f.AdminClient = adminv1.NewAdminClient(f.conn)
	raw, key, err := f.keys.Create(t.Context(), keys.CreateParams{Group: keys.GroupAdmin, Settings: keys.Settings{Name: "root"}})
	if err != nil {
		t.Fatal(err)
	}
	f.root, f.rootID = raw, key.ID
	return f
}

// showing returns a context that shows a key.
func showing(t *testing.T, raw string, more ...string) context.Context {
	t.Helper()
	return metadata.AppendToOutgoingContext(t.Context(), append(more, "authorization", "Bearer "+raw)...)
}
