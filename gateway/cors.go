package gateway

import (
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/rs/cors"
)

// anyOrigin allows pages of every origin.
const anyOrigin = "*"

// preflightAge is how long a browser may remember a preflight, in seconds; Chromium
// remembers none for longer.
const preflightAge = 7200

// exposed gives the headers of an answer that a page may read. Not all browsers know the
// asterisk, which is for those that an upstream sends.
func exposed() []string {
	return slices.Concat([]string{
		"X-Request-Id", "Request-Id", "X-Genway-Request-Id", "X-Client-Request-Id", "Retry-After", "Retry-After-Ms", "X-Should-Retry",
		lostHeader, "X-Genway-Upstream", "X-Genway-Attempts", upstreamIDHeader,
	}, protocolHeaders(), []string{"*"})
}

// newCORS lets pages of those origins call the edge; nil for none. A page may send any
// header, since SDKs send a dozen each and new ones with every version, but its browser
// sends no credentials of its own: only the key identifies the caller.
func newCORS(origins []string) (*cors.Cors, error) {
	if len(origins) == 0 {
		return nil, nil
	}
	if err := CheckOrigins(origins); err != nil {
		return nil, fmt.Errorf("gateway: CORS origin %w", err)
	}
	return cors.New(cors.Options{
		AllowedOrigins: origins,
		AllowedMethods: []string{http.MethodGet, http.MethodHead, http.MethodPost},
		AllowedHeaders: []string{"*"},
		ExposedHeaders: exposed(),
		MaxAge:         preflightAge,
	}), nil
}

// CheckOrigins gives the error of the first that is no Config.CORSOrigins.
func CheckOrigins(origins []string) error {
	for _, origin := range origins {
		if !isOrigin(origin) {
			return fmt.Errorf("%q: expected * or an origin as browsers send it, SCHEME://HOST or SCHEME://HOST:PORT in lower case, without a path", origin)
		}
	}
	return nil
}

func isOrigin(text string) bool {
	if text == anyOrigin {
		return true
	}
	u, err := url.Parse(text)
	return err == nil && u.Scheme != "" && u.Hostname() != "" && u.Scheme+"://"+u.Host == text && text == strings.ToLower(text) && !strings.ContainsAny(text, "*, ")
}
