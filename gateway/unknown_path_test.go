package gateway_test

import (
	"net/http"
	"strings"
	"testing"
)

// A path that is nearly one of ours is answered with what to set, in the protocol of the
// client that sends it.
func TestWrongBaseURLs(t *testing.T) {
	e := serve(t, nil)
	for path, want := range map[string]struct{ protocol, hint string }{
		"/chat/completions":                       {"chat", "the base URL of this client must end with /v1"},
		"/responses":                              {"responses", "the base URL of this client must end with /v1"},
		"/responses/input_tokens":                 {"responses", "the base URL of this client must end with /v1"},
		"/messages":                               {"messages", "the base URL of this client must end before /messages, with /v1; an official SDK of the vendor adds /v1 itself"},
		"/messages/count_tokens":                  {"messages", "/v1"},
		"/images/generations":                     {"images", "the base URL of this client must end with /v1"},
		"/models":                                 {"chat", "the base URL of this client must end with /v1"},
		"/models/m":                               {"chat", "the base URL of this client must end with /v1"},
		"/models/m:generateContent":               {"generatecontent", "the base URL of this client must end with /v1beta"},
		"/models/a/b:streamGenerateContent":       {"generatecontent", "the base URL of this client must end with /v1beta"},
		"/v1/v1/chat/completions":                 {"chat", "the base URL of this client must end before /v1"},
		"/v1/v1/messages":                         {"messages", "the base URL of this client must end before /v1"},
		"/v1beta/v1beta/models/m:generateContent": {"generatecontent", "the base URL of this client must end before /v1beta"},
		"/v1/v1beta/models/m:generateContent":     {"generatecontent", "the base URL of this client must end before /v1"},
		"/v1beta/v1/chat/completions":             {"chat", "the base URL of this client must end before /v1beta"},
		"/v1/v1/nothing":                          {"chat", "the base URL of this client must end before /v1"},
		"/api/v1/chat/completions":                {"chat", "this server answers at /v1/chat/completions; take /api out of the base URL"},
		"/openai/v1beta/models/m:countTokens":     {"generatecontent", "this server answers at /v1beta/models/m:countTokens; take /openai out of the base URL"},
		"/v1/chat/completions/chat/completions":   {"chat", "the base URL of this client must end with /v1, not with /v1/chat/completions"},
		"/v1/messages/v1/messages":                {"messages", "this server answers at /v1/messages; take /v1/messages out of the base URL"},
		"/v1/chat/completions/":                   {"chat", "this server answers at /v1/chat/completions, without a slash at the end"},
		"/v1//chat/completions":                   {"chat", "this server answers at /v1/chat/completions; the base URL of this client must not end with a slash"},
		"//v1/messages":                           {"messages", "this server answers at /v1/messages; the base URL of this client must not end with a slash"},
	} {
		for _, method := range []string{http.MethodPost, http.MethodGet} {
			r := e.do(t, method, path, right(want.protocol), "{}")
			native(t, want.protocol, r, http.StatusNotFound)
			if text, _ := failure(t, r); !strings.Contains(text, want.hint) || !strings.Contains(text, path) {
				t.Errorf("%s %s: %q", method, path, text)
			}
		}
	}
}

// Paths that vendors serve and this server does not get an error that says so.
func TestPathsThatAreNotOffered(t *testing.T) {
	e := serve(t, nil)
	for _, c := range []struct{ protocol, paths string }{
		{"chat", `/v1/embeddings /v1/audio/speech /v1/audio/transcriptions /v1/files /v1/files/f/content /v1/batches /v1/moderations /v1/assistants
			/v1/threads /v1/threads/t/messages /v1/fine_tuning/jobs /v1/vector_stores /v1/realtime /v1/realtime/sessions /v1/uploads /v1/completions
			/v1/images/variations /v1/conversations /v1/containers /v1/videos /v1/evals /v1/engines /v1/organization/usage/completions /v1/chat/completions/id
			/v1/edits /v1/skills /embeddings /v1/v1/embeddings /api/v1/embeddings`},
		{"messages", `/v1/messages/batches /v1/messages/batches/b/results /v1/complete /v1/files /v1/organizations/me /v1/skills /v1/agents /v1/sessions/s/messages`},
		{"generatecontent", `/v1beta/cachedContents /v1beta/cachedContents/c /v1beta/files /upload/v1beta/files /v1beta/tunedModels /v1beta/corpora
			/v1beta/fileSearchStores /v1beta/batches /v1beta/operations/o /v1beta/models/m:embedContent /v1beta/models/m:batchEmbedContents
			/v1beta/models/m:batchGenerateContent /v1beta/models/m:predict /v1beta/models/m:predictLongRunning /v1beta/auth_tokens /v1/models/m:embedContent
			/models/m:embedContent`},
		{"interactions", `/v1beta/interactions/v1_x/steps /v1/interactions/v1_x/cancel/now`},
	} {
		for path := range strings.FieldsSeq(c.paths) {
			r := e.do(t, http.MethodPost, path, right(c.protocol), "{}")
			native(t, c.protocol, r, http.StatusNotFound)
			if text, _ := failure(t, r); !strings.Contains(text, path+" is not offered by this server") || strings.Contains(text, "unknown path") {
				t.Errorf("%s: %q", path, text)
			}
		}
	}
	for path, ours := range map[string]string{
		"/v1%2Fchat/completions":           "/v1/chat/completions",
		"/v1%2fchat%2fcompletions":         "/v1/chat/completions",
		"/v1beta%2Fmodels/m:countTokens":   "/v1beta/models/m:countTokens",
		"/v1/models%2Fm":                   "/v1/models/m",
		"/v1/responses%2Finput_tokens%3Fa": "",
	} {
		text, _ := failure(t, e.do(t, http.MethodPost, path, right("chat"), "{}"))
		if said := strings.Contains(text, "unknown path "+path+"; this server answers at "+ours+", whose slashes must not be escaped"); said != (ours != "") {
			t.Errorf("%s: %q", path, text)
		}
	}
	for _, path := range []string{"/v1/nothing", "/v1/embeddingss", "/nothing", "/v1beta/models/m:nothing"} {
		if text, _ := failure(t, e.do(t, http.MethodPost, path, right("chat"), "{}")); !strings.Contains(text, "unknown path "+path) {
			t.Errorf("%s: %q", path, text)
		}
	}
}
