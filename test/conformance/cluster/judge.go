package cluster

import (
	"encoding/json"
	"strconv"
	"strings"

	"github.com/genway/genway/test/conformance/caller"
)

// Kinds of what becomes of a request. A refusal with a status that is native to the protocol has
// the status for its kind, as in 503.
const (
	// whole is an answer to its end.
	whole = ""
	// broken is a connection that broke before the end of the answer, or before its head.
	broken = "broken connection"
	// event is a stream that ended with an error event of its protocol.
	event = "error event"
	// overBudget is a refusal because a budget is spent, or held by requests in flight.
	overBudget = "over budget"
	// silent is an answer that ends in order, and neither is whole nor says that it is not.
	silent = "silent end"
	// foreign is a refusal that is no error of the caller's protocol.
	foreign = "foreign error"
)

// judge says what became of a request by what its caller saw.
func judge(call caller.Call, seen caller.Seen, err error) (kind string) {
	switch {
	case err != nil:
		return broken
	case seen.Whole:
		return whole
	case seen.Status != 200:
		if !nativeError(call.Protocol, []byte(seen.Body)) {
			return foreign
		}
		if seen.Status == 429 && (strings.Contains(seen.Body, "budget") || spent(seen)) {
			return overBudget
		}
		return strconv.Itoa(seen.Status)
	case seen.Cut:
		return broken
	case call.Stream && nativeEvent(call.Protocol, seen.Body):
		return event
	}
	return silent
}

// spent says that a refusal is for a budget that has nothing left, rather than for what requests
// in flight hold of it.
func spent(seen caller.Seen) bool {
	return seen.Status == 429 && strings.Contains(seen.Body, "insufficient_quota")
}

// nativeError says that a body is an error of a protocol.
func nativeError(protocol string, body []byte) bool {
	var e struct {
		Type  string `json:"type"`
		Error struct {
			Type    string `json:"type"`
			Message string `json:"message"`
			Code    any    `json:"code"`
			Status  string `json:"status"`
		} `json:"error"`
	}
	if json.Unmarshal(body, &e) != nil || e.Error.Message == "" {
		return false
	}
	switch protocol {
	case "messages":
		return e.Type == "error" && e.Error.Type != ""
	case "generatecontent":
		code, is := e.Error.Code.(float64)
		return is && code >= 400 && e.Error.Status != ""
	}
	return e.Error.Type != ""
}

// nativeEvent says that a stream has an error event of its protocol.
func nativeEvent(protocol, body string) bool {
	for line := range strings.Lines(body) {
		data, is := strings.CutPrefix(strings.TrimSpace(line), "data: ")
		if !is {
			continue
		}
		if protocol != "responses" {
			if nativeError(protocol, []byte(data)) {
				return true
			}
			continue
		}
		var e struct {
			Type    string `json:"type"`
			Message string `json:"message"`
		}
		if json.Unmarshal([]byte(data), &e) == nil && (e.Type == "response.failed" || e.Type == "error" && e.Message != "") {
			return true
		}
	}
	return false
}
