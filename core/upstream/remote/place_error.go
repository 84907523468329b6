package remote

import (
	"encoding/json"
	"net/http"
	"strings"

	"github.com/genway/genway/codec/fault"
)

// placeError gives an error of the provider in the shape of the upstream's protocol, so that callers
// get its text. A body that has the protocol's shape is not changed.
func (u *Upstream) placeError(status int, h http.Header, body []byte) []byte {
	if u.config.Place == nil {
		return body
	}
	message := ""
	switch u.config.Place.Errors {
	case "aws":
		message = awsMessage(body)
	case "google":
		message = googleMessage(body)
	}
	if message == "" {
		return body
	}
	if exception, _, _ := strings.Cut(h.Get("X-Amzn-Errortype"), ":"); exception != "" && len(exception) <= 100 {
		message = exception + ": " + message
	}
	f := fault.New(fault.KindOf(status), "PLACE_ERROR", "%s", message)
	f.Status = status
	_, made := u.protocol.ErrorCodec().EncodeError(f)
	return made
}

// awsMessage is the text of an error of AWS: {"message": …}, or {"Message": …}.
func awsMessage(body []byte) string {
	var found struct {
		Message string          `json:"message"` // of either case
		Error   json.RawMessage `json:"error"`
	}
	if json.Unmarshal(body, &found) != nil || found.Error != nil {
		return ""
	}
	return found.Message
}

// googleMessage is the text of an error of Google's (google.rpc.Status), which may stand in
// an array: {"error": {"code": 429, "message": …, "status": "RESOURCE_EXHAUSTED"}}.
func googleMessage(body []byte) string {
	type googleError struct {
		Error struct{ Message, Status string }
	}
	var one googleError
	if json.Unmarshal(body, &one) != nil {
		var several []googleError
		if json.Unmarshal(body, &several) != nil || len(several) == 0 {
			return ""
		}
		one = several[0]
	}
	if one.Error.Status == "" {
		return ""
	}
	return one.Error.Message
}
