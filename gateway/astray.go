package gateway

import (
	"net/http"
	"strings"

	"github.com/genway/genway/codec/fault"
	genwayv1 "github.com/genway/genway/gen/genway/v1"
)

// notOffered are the first steps, behind the version, of paths of the vendors that this
// server has nothing of: by the resources of their SDKs.
var notOffered = setOf(`agents assistants audio batches chatkit completions containers content_provenance_checks
	conversations decisions edits embeddings engines evals files fine-tunes fine_tuning live moderations organization projects
	realtime rerank skills threads uploads vaults vector_stores videos webhooks
	complete deployment_runs deployments dreams environments experimental memory_stores organizations sessions tunnels user_profiles
	auth_tokens cachedContents corpora dynamic fileSearchStores generatedFiles interactions operations tunedModels upload`)

// partlyOffered are first steps of ours, too. What else begins so is not offered.
var partlyOffered = setOf("chat images messages responses")

// notOfferedVerbs are operations on models of generateContent.
var notOfferedVerbs = setOf(`asyncBatchEmbedContent batchEmbedContents batchEmbedText batchGenerateContent bidiGenerateContent
	countMessageTokens countTextTokens embedContent embedText generateAnswer generateImages generateMessage generateText generateVideos
	predict predictLongRunning transferOwnership`)

func setOf(words string) map[string]bool {
	set := map[string]bool{}
	for word := range strings.FieldsSeq(words) {
		set[word] = true
	}
	return set
}

// astray is what is known of a path that is none of ours.
type astray struct {
	// protocol is that of the client that sends it; unspecified where more than one does.
	protocol genwayv1.Protocol
	// offered is false for what a vendor offers and this server does not.
	offered bool
	// hint says what to do about it.
	hint string
}

// longestGuess bounds the paths that are looked into, in bytes.
const longestGuess = 512

// stray finds out what a path was meant to be.
func stray(name string) astray {
	if len(name) > longestGuess {
		return astray{offered: true}
	}
	bare, versions := unversioned(strings.TrimPrefix(name, "/api/"))
	step, _, _ := strings.Cut(bare, "/")
	_, verb, _ := strings.Cut(bare, ":")
	switch {
	case notOffered[step]:
		return astray{protocol: vendorOf(versions, step)}
	case strings.HasPrefix(bare, "models/") && notOfferedVerbs[verb]:
		return astray{protocol: genwayv1.Protocol_PROTOCOL_GENERATE_CONTENT}
	}
	if found, ok := misspelled(name); ok {
		return found
	}
	switch {
	case partlyOffered[step] && len(versions) > 0:
		return astray{protocol: vendorOf(versions, step)}
	case len(versions) > 1:
		return astray{offered: true, protocol: vendorOf(versions, step), hint: "; " + endsBefore(versions)}
	}
	return astray{offered: true, protocol: vendorOf(versions, step)}
}

// misspelled finds the path of ours that another one is, but for what the base URL of a
// client has too much or too little.
func misspelled(name string) (astray, bool) {
	if clean := strings.TrimRight(name, "/"); offered(clean) {
		return astrayFrom(clean, "; this server answers at "+clean+", without a slash at the end"), clean != name
	}
	if clean := strings.ReplaceAll(name, "//", "/"); clean != name && offered(clean) {
		return astrayFrom(clean, "; this server answers at "+clean+"; the base URL of this client must not end with a slash"), true
	}
	for i := len(name) - 1; i > 0; i-- {
		ours, before := name[i:], name[:i]
		if ours[0] != '/' || !offered(ours) {
			continue
		}
		if bare, versions := unversioned(before + "/"); bare == "" {
			return astrayFrom(ours, "; "+endsBefore(append(versions, ""))), true
		}
		return astrayFrom(ours, "; this server answers at "+ours+"; take "+before+" out of the base URL of this client"), true
	}
	for i := len(name) - 1; i >= 0; i-- {
		if name[i] != '/' {
			continue
		}
		for _, version := range []string{"/v1beta", "/v1"} {
			if ours := version + name[i:]; offered(ours) && (version == "/v1") != strings.Contains(name[i:], ":") {
				return astrayFrom(ours, lacksVersion(version, name[:i], name[i:])), true
			}
		}
	}
	return astray{}, false
}

// lacksVersion says how the base URL must end of a client that leaves the version out.
func lacksVersion(version, before, path string) string {
	switch {
	case before != "":
		return "; the base URL of this client must end with " + version + ", not with " + before
	case strings.HasPrefix(path, "/messages"):
		return "; the base URL of this client must end before " + path + ", with " + version + "; an official SDK of the vendor adds " + version + " itself"
	}
	return "; the base URL of this client must end with " + version
}

func endsBefore(versions []string) string {
	return "the base URL of this client must end before /" + versions[0]
}

// offered reports whether a path is one of ours, for any method.
func offered(name string) bool {
	if p, ok := paths[name]; ok {
		return p.handle == nil
	}
	model, ok := strings.CutPrefix(name, modelsPrefix)
	if !ok {
		model, ok = strings.CutPrefix(name, betaModelsPrefix)
	}
	if !ok || strings.HasPrefix(model, ":") {
		return name == strings.TrimSuffix(modelsPrefix, "/")
	}
	_, verb, verbed := strings.Cut(model, ":")
	return model != "" && (!verbed || modelVerbs[verb] != noBody)
}

// astrayFrom is what to say of a path that was meant to be one of ours.
func astrayFrom(ours, hint string) astray {
	found := astray{offered: true, hint: hint, protocol: paths[ours].protocol}
	if found.protocol == genwayv1.Protocol_PROTOCOL_UNSPECIFIED && strings.Contains(ours, ":") {
		found.protocol = genwayv1.Protocol_PROTOCOL_GENERATE_CONTENT
	}
	return found
}

// unversioned cuts the versions off the beginning of a path.
func unversioned(name string) (rest string, versions []string) {
	rest = strings.TrimPrefix(name, "/")
	for {
		step, behind, more := strings.Cut(rest, "/")
		if !more || step != "v1" && step != "v1beta" && step != "v1alpha" {
			return rest, versions
		}
		rest, versions = behind, append(versions, step)
	}
}

// vendorOf is the protocol of a path by its version and its first step; unspecified when
// the caller's headers must tell.
func vendorOf(versions []string, step string) genwayv1.Protocol {
	switch {
	case len(versions) > 0 && versions[len(versions)-1] == "v1beta", step == "upload":
		return genwayv1.Protocol_PROTOCOL_GENERATE_CONTENT
	case step == "messages", step == "complete":
		return genwayv1.Protocol_PROTOCOL_MESSAGES
	case step == "responses":
		return genwayv1.Protocol_PROTOCOL_RESPONSES
	case step == "images":
		return genwayv1.Protocol_PROTOCOL_IMAGES
	}
	return genwayv1.Protocol_PROTOCOL_UNSPECIFIED
}

// guess is the protocol of a request to a path that is none of ours.
func (e *Edge) guess(r *http.Request) genwayv1.Protocol {
	if protocol := stray(r.URL.Path).protocol; protocol != genwayv1.Protocol_PROTOCOL_UNSPECIFIED {
		return protocol
	}
	return e.protocolOf(r)
}

// storedResponses is the path of a response that its vendor has stored, and of what can be
// done with one: fetch, delete, cancel, list its input. Genway stores none.
const storedResponses = "/v1/responses/"

func notFound(name string) error {
	found, shown := stray(name), clip(strings.ToValidUTF8(name, "\uFFFD"), 200)
	switch {
	case !found.offered && strings.HasPrefix(name, storedResponses):
		return fault.New(fault.NotFound, fault.ReasonPathNotFound, "%s is not offered by this server: it does not store responses; send the conversation to POST /v1/responses", shown)
	case !found.offered:
		return fault.New(fault.NotFound, fault.ReasonPathNotFound, "%s is not offered by this server", shown)
	}
	return fault.New(fault.NotFound, fault.ReasonPathNotFound, "unknown path %s%s", shown, clip(strings.ToValidUTF8(found.hint, "\uFFFD"), 400))
}
