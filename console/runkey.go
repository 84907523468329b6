package console

import (
	"context"
	"crypto/sha256"
	"net/http"
	"strings"
	"time"

	adminv1 "github.com/genway/genway/gen/genway/admin/v1"
	"google.golang.org/protobuf/types/known/timestamppb"
)

const (
	// runKeyGood is how long a key is good that was made for the playground, runKeyLeft what it
	// must have left to be used once more.
	runKeyGood = time.Hour
	runKeyLeft = 2 * runWithin
	// playgroundLabel marks these keys.
	playgroundLabel = "playground"
	// maxKey bounds a key that is pasted, in bytes.
	maxKey = 256
)

// runKey is a key that was made for a session's runs.
type runKey struct {
	raw, id string
	// session is the id of the session, shown the hash of its key.
	session string
	shown   [sha256.Size]byte
	end     time.Time
}

// keyFor returns the key to send a request with: the one that was pasted, which is kept nowhere, or
// for an admin one of the group that ends within the hour.
func (c *call) keyFor(pasted, group string) (string, error) {
	switch {
	case len(pasted) > maxKey || strings.ContainsFunc(pasted, func(r rune) bool { return r <= ' ' || r > '~' }):
		return "", &pageError{http.StatusBadRequest, "What was pasted is no key."}
	case pasted != "":
		return pasted, nil
	case !c.writes():
		return "", &pageError{http.StatusForbidden, "Paste a key of the group " + group + ": a viewer has none made."}
	}
	r := c.console.runs
	now := c.console.config.Clock()
	at := sha256.Sum256([]byte(c.raw + " " + group))
	r.mu.Lock()
	known := r.keys[at]
	for k, key := range r.keys {
		if key.end.Before(now) {
			delete(r.keys, k)
		}
	}
	r.mu.Unlock()
	if known.end.Sub(now) > runKeyLeft {
		return known.raw, nil
	}
	end := now.Add(runKeyGood)
	made, err := c.admin.CreateKey(c.ctx, &adminv1.CreateKeyRequest{Group: groupOf(group), Settings: &adminv1.KeySettings{
		Owner: c.session.GetSettings().GetOwner(), Labels: map[string]string{playgroundLabel: c.session.GetId()}, ExpireTime: timestamppb.New(end),
	}})
	if err != nil {
		if message, ok := wrongInput(err); ok {
			return "", &pageError{http.StatusBadRequest, message}
		}
		return "", err
	}
	r.mu.Lock()
	r.keys[at] = runKey{made.GetRawKey(), made.GetKey().GetId(), c.session.GetId(), sha256.Sum256([]byte(c.raw)), end}
	r.mu.Unlock()
	return made.GetRawKey(), nil
}

// revoke revokes the keys that were made for the runs of a session, which is about to end. One that cannot be revoked ends within
// the hour.
func (r *runs) revoke(ctx context.Context, admin adminv1.AdminClient, of func(key runKey) bool) {
	var ids []string
	r.mu.Lock()
	for at, key := range r.keys {
		if of(key) {
			ids = append(ids, key.id)
			delete(r.keys, at)
		}
	}
	r.mu.Unlock()
	for _, id := range ids {
		_, _ = admin.RevokeKey(ctx, &adminv1.RevokeKeyRequest{Key: id}) // it ends all the same
	}
}

// shownBy tells the keys of the session whose key is raw.
func shownBy(raw string) func(runKey) bool {
	shown := sha256.Sum256([]byte(raw))
	return func(key runKey) bool { return key.shown == shown }
}
