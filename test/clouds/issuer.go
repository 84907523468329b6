package clouds

import (
	"encoding/json"
	"fmt"
	"net/http"
	"sync"
	"time"
)

// Issuer returns tokens for requests that Check accepts. The zero value of what is not set is
// the default. It is safe for concurrent use.
type Issuer struct {
	// Check reports why a request for a token is refused; the caller gets the text as
	// the error code. Required.
	Check func(r *http.Request) error
	// Life is how long tokens are valid. Default 1 h.
	Life time.Duration
	// Now is the issuer's clock. Default time.Now.
	Now func() time.Time

	mu    sync.Mutex
	given int
	away  bool
	ends  map[string]time.Time
}

// SetAway has the issuer answer 503, or not any more.
func (i *Issuer) SetAway(away bool) {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.away = away
}

// Given is how many tokens were given.
func (i *Issuer) Given() int {
	i.mu.Lock()
	defer i.mu.Unlock()
	return i.given
}

// Revoke ends all tokens that were given so far.
func (i *Issuer) Revoke() {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.ends = nil
}

// Valid reports whether a token was given and is valid.
func (i *Issuer) Valid(token string) bool {
	i.mu.Lock()
	defer i.mu.Unlock()
	end, known := i.ends[token]
	return known && i.now().Before(end)
}

func (i *Issuer) now() time.Time {
	if i.Now == nil {
		return time.Now()
	}
	return i.Now()
}

// ServeHTTP answers a request for a token, as RFC 6749, 5.1 and the metadata servers do.
func (i *Issuer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Type", "application/json")
	i.mu.Lock()
	defer i.mu.Unlock()
	if i.away {
		w.WriteHeader(http.StatusServiceUnavailable)
		return
	}
	if err := i.Check(r); err != nil {
		w.WriteHeader(http.StatusBadRequest)
		_ = json.NewEncoder(w).Encode(map[string]string{"error": err.Error()})
		return
	}
	life := i.Life
	if life == 0 {
		life = time.Hour
	}
	i.given++
	token := fmt.Sprintf("token-%d-of-the-issuer", i.given)
	if i.ends == nil {
		i.ends = map[string]time.Time{}
	}
	i.ends[token] = i.now().Add(life)
	_ = json.NewEncoder(w).Encode(map[string]any{"access_token": token, "token_type": "Bearer", "expires_in": life.Seconds()})
}
