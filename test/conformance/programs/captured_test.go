package programs

import (
	"context"
	"encoding/hex"
	"path/filepath"
	"strings"
	"testing"
	"time"

	adminv1 "github.com/genway/genway/gen/genway/admin/v1"
	"github.com/genway/genway/test/conformance/server"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
)

// Keys of a key file.
const (
	captureKeyOne = "one AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=\n"
	captureKeyTwo = "two AQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQE=\n"
)

// capturedBodies has one key captured, whose bodies are read by the key that may, while the keys that they
// are encrypted by change, in one process and two.
func capturedBodies(t *testing.T, each stores) {
	each.each(t, func(t *testing.T, data string) {
		keyFile := filepath.Join(t.TempDir(), "capture.keys")
		write(t, keyFile, captureKeyOne)
		r := start(t, server.Options{Data: data, TwoProcess: strings.HasPrefix(data, "postgres")}, "captures: {key_file: "+keyFile+"}\n")
		made := map[string]string{}
		for name, flags := range map[string][]string{"reader": {"--read-captures", "--read-only"}, "viewer": {"--read-only"}, "admin": nil} {
			made[name] = key(t, data, "admin", name, flags...)
		}
		made["captured"] = key(t, data, "chat", "captured", "--capture-until", "1h")
		conn, err := grpc.NewClient(r.GRPC, grpc.WithTransportCredentials(insecure.NewCredentials()))
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = conn.Close() })
		c := &captures{rig: r, admin: adminv1.NewAdminClient(conn), keys: made}
		first := c.ask(t, 1, made["captured"])
		c.ask(t, 2, r.Keys["chat"]) // nobody has asked for this one
		c.reads(t, first, "one")
		if list := c.list(t); list[0].GetId() == first || c.get(t, list[0].GetId(), "reader") != codes.NotFound {
			t.Errorf("a request of another key is captured: %v", list)
		}
		if code := c.get(t, first, "admin"); code != codes.PermissionDenied {
			t.Errorf("an admin without the right: %v", code)
		}
		dump := r.db.Dump(t)
		for _, prompt := range []string{canaryPrompt, hex.EncodeToString([]byte(canaryPrompt))} {
			if strings.Contains(dump, prompt) || strings.Contains(r.Core.Log(), prompt) {
				t.Errorf("%s is in clear", prompt)
			}
		}

		// The file with another key alone: what was sealed by the first one is not read until that is back.
		write(t, keyFile, captureKeyTwo)
		c.awaits(t, first, codes.FailedPrecondition)
		write(t, keyFile, "two no key at all\n")
		if err := r.Core.AwaitText("the old one stays"); err != nil {
			t.Error(err)
		}
		c.reads(t, c.ask(t, 3, made["captured"]), "two")
		write(t, keyFile, captureKeyTwo+captureKeyOne)
		c.awaits(t, first, codes.OK)
		c.ofARoute(t)
		if out := genway(t, data, "audit", "list"); strings.Count(out, "capture.read") < 3 || !strings.Contains(out, first) {
			t.Errorf("the audit has %s", out)
		}

		_, err = c.admin.DeleteCaptures(c.as(t, "reader"), &adminv1.DeleteCapturesRequest{Which: &adminv1.DeleteCapturesRequest_All{All: true}})
		if status.Code(err) != codes.PermissionDenied {
			t.Errorf("a viewer deletes: %v", err)
		}
		if gone, err := c.admin.DeleteCaptures(c.as(t, "admin"), &adminv1.DeleteCapturesRequest{Which: &adminv1.DeleteCapturesRequest_All{All: true}}); err != nil || gone.GetDeleted() != 3 {
			t.Errorf("deleted %v, %v", gone, err)
		}
		if code := c.get(t, first, "reader"); code != codes.NotFound {
			t.Errorf("after the deletion: %v", code)
		}
	})
}

// key makes a key of data.
func key(t *testing.T, data, group, name string, flags ...string) string {
	t.Helper()
	raw, err := server.CreateKey(data, group, name, flags...)
	if err != nil {
		t.Fatal(err)
	}
	return raw
}

// captures are the captured bodies of a gateway.
type captures struct {
	*rig
	admin adminv1.AdminClient
	keys  map[string]string
}

func (c *captures) as(t *testing.T, name string) context.Context {
	return metadata.AppendToOutgoingContext(t.Context(), "authorization", "Bearer "+c.keys[name])
}

// ask makes a call that is translated, and returns its id in the ledger.
func (c *captures) ask(t *testing.T, n int, key string) string {
	t.Helper()
	return c.askOf(t, "cancel-messages", n, key)
}

func (c *captures) list(t *testing.T) []*adminv1.LoggedRequest {
	t.Helper()
	resp, err := c.admin.ListRequests(c.as(t, "reader"), &adminv1.ListRequestsRequest{})
	if err != nil {
		t.Fatal(err)
	}
	return resp.GetRequests()
}

func (c *captures) get(t *testing.T, id, who string) codes.Code {
	t.Helper()
	_, err := c.admin.GetCapture(c.as(t, who), &adminv1.GetCaptureRequest{Id: id})
	return status.Code(err)
}

// awaits waits until a reading ends so.
func (c *captures) awaits(t *testing.T, id string, want codes.Code) {
	t.Helper()
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	for deadline := time.Now().Add(time.Minute); c.get(t, id, "reader") != want; <-tick.C {
		if time.Now().After(deadline) {
			t.Fatalf("the bodies of %s: %v, not %v", id, c.get(t, id, "reader"), want)
		}
	}
}

// reads demands the bodies of a call of ask, once they are written.
func (c *captures) reads(t *testing.T, id, sealed string) {
	t.Helper()
	c.awaits(t, id, codes.OK)
	got, err := c.admin.GetCapture(c.as(t, "reader"), &adminv1.GetCaptureRequest{Id: id})
	if err != nil || got.GetSealedBy() != sealed {
		t.Fatalf("%v, %v", got, err)
	}
	has := map[adminv1.BodyKind]string{}
	for _, b := range got.GetBodies() {
		has[b.GetKind()] = string(b.GetData())
	}
	for kind, want := range map[adminv1.BodyKind]string{
		adminv1.BodyKind_BODY_KIND_CALLER_REQUEST: canaryPrompt, adminv1.BodyKind_BODY_KIND_UPSTREAM_REQUEST: canaryPrompt,
		adminv1.BodyKind_BODY_KIND_UPSTREAM_ANSWER: canaryAnswer, adminv1.BodyKind_BODY_KIND_CONTRACT_ANSWER: canaryAnswer,
	} {
		if !strings.Contains(has[kind], want) || strings.Contains(has[kind], upstreamKey) || strings.Contains(has[kind], "gwk_") {
			t.Errorf("%v is %s", kind, has[kind])
		}
	}
}
