package credential

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"time"
)

// askToken sends a request whose answer is a token as a metadata server returns it.
func askToken(client *http.Client, req *http.Request) (string, time.Time, error) {
	resp, err := client.Do(req) //nolint:gosec // of the operator's environment, or fixed
	if err != nil {
		if unreachable, ok := errors.AsType[*url.Error](err); ok {
			err = unreachable.Err
		}
		return "", time.Time{}, fmt.Errorf("the issuer could not be reached: %w", err)
	}
	defer resp.Body.Close()
	body, err := readAll(resp.Body, "the issuer's answer")
	if err != nil {
		return "", time.Time{}, err
	}
	var answer struct {
		AccessToken string      `json:"access_token"`
		ExpiresIn   json.Number `json:"expires_in"`
		ExpiresOn   json.Number `json:"expires_on"`
		Error       string      `json:"error"`
	}
	malformed := json.Unmarshal(body, &answer)
	switch {
	case resp.StatusCode != http.StatusOK:
		return "", time.Time{}, answered(resp.StatusCode, answer.Error)
	case malformed != nil:
		return "", time.Time{}, errors.New("the issuer's answer is no token: it is not the JSON that is expected")
	}
	expires, err := expiry(answer.ExpiresIn, answer.ExpiresOn)
	if err != nil {
		return "", time.Time{}, err
	}
	return sendable(answer.AccessToken, expires)
}

// maxLife bounds the life of a token that an issuer reports.
const maxLife = 30 * 24 * time.Hour

// expiry reads when a token ends: after so many seconds, which does not depend on clocks, or
// at a time (seconds since 1970). Both may be texts.
func expiry(in, on json.Number) (time.Time, error) {
	if seconds, err := strconv.ParseFloat(in.String(), 64); err == nil && seconds > 0 {
		return time.Now().Add(time.Duration(min(seconds*float64(time.Second), float64(maxLife)))), nil
	}
	if seconds, err := strconv.ParseInt(on.String(), 10, 64); err == nil && seconds > 0 {
		return time.Unix(seconds, 0), nil
	}
	return time.Time{}, errors.New("the issuer's answer does not say when the token ends")
}
