package gateway

import (
	"net/http"
	"net/url"
	"strings"

	"github.com/genway/genway/codec/fault"
)

// notOffered are the first steps, behind the version, of paths of the vendors that this
// server has nothing of: by the resources of their SDKs.
var notOffered = setOf(`agents assistants audio batches chatkit completions containers content_provenance_checks
	conversations decisions edits embeddings engines evals files fine-tunes fine_tuning live moderations organization projects
	realtime rerank skills threads uploads vaults vector_stores videos webhooks
	complete deployment_runs deployments dreams environments experimental memory_stores organizations sessions tunnels user_profiles
	auth_tokens cachedContents corpora dynamic fileSearchStores generatedFiles operations tunedModels upload`)

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

// unknownPath describes a path that this server does not have.
type unknownPath struct {
	// endpoint belongs to the protocol whose clients send it; nil where clients of several do.
	endpoint *endpoint
	// offered is false for what a vendor offers and this server does not.
	offered bool
	// hint says what to do about it.
	hint string
}

// longestGuess bounds the paths that are looked into, in bytes.
const longestGuess = 512

// unknown finds out what the sender of a path meant.
func (t *paths) unknown(name string) unknownPath {
	if len(name) > longestGuess {
		return unknownPath{offered: true}
	}
	bare, versions := unversioned(strings.TrimPrefix(name, "/api/"))
	step, _, _ := strings.Cut(bare, "/")
	_, verb, _ := strings.Cut(bare, ":")
	switch {
	case notOffered[step]:
		return unknownPath{endpoint: t.vendorOf(versions, step)}
	case strings.HasPrefix(bare, "models/") && notOfferedVerbs[verb]:
		return unknownPath{endpoint: t.models[0].verbOwner}
	}
	if found, ok := t.misspelled(name); ok {
		return found
	}
	switch {
	case t.steps[step] && len(versions) > 0: // what else begins so is not offered
		return unknownPath{endpoint: t.vendorOf(versions, step)}
	case len(versions) > 1:
		return unknownPath{offered: true, endpoint: t.vendorOf(versions, step), hint: "; " + endsBefore(versions)}
	}
	return unknownPath{offered: true, endpoint: t.vendorOf(versions, step)}
}

// misspelled finds the path of ours that another one is, but for what the base URL of a
// client has too much or too little.
func (t *paths) misspelled(name string) (unknownPath, bool) {
	if clean := strings.TrimRight(name, "/"); t.offered(clean) {
		return t.unknownFrom(clean, "; this server answers at "+clean+", without a slash at the end"), clean != name
	}
	if clean := strings.ReplaceAll(name, "//", "/"); clean != name && t.offered(clean) {
		return t.unknownFrom(clean, "; this server answers at "+clean+"; the base URL of this client must not end with a slash"), true
	}
	for i := len(name) - 1; i > 0; i-- {
		ours, before := name[i:], name[:i]
		if ours[0] != '/' || !t.offered(ours) {
			continue
		}
		if bare, versions := unversioned(before + "/"); bare == "" {
			return t.unknownFrom(ours, "; "+endsBefore(append(versions, ""))), true
		}
		return t.unknownFrom(ours, "; this server answers at "+ours+"; take "+before+" out of the base URL of this client"), true
	}
	for i := len(name) - 1; i >= 0; i-- {
		if name[i] != '/' {
			continue
		}
		for _, version := range []string{"/v1beta", "/v1"} {
			if ours := version + name[i:]; t.offered(ours) && (version == "/v1") != strings.Contains(name[i:], ":") {
				return t.unknownFrom(ours, t.lacksVersion(version, name[:i], name[i:])), true
			}
		}
	}
	return unknownPath{}, false
}

// lacksVersion says how the base URL must end of a client that leaves the version out.
func (t *paths) lacksVersion(version, before, path string) string {
	switch {
	case before != "":
		return "; the base URL of this client must end with " + version + ", not with " + before
	case t.fixed[version+path].isVersioned():
		return "; the base URL of this client must end before " + path + ", with " + version + "; an official SDK of the vendor adds " + version + " itself"
	}
	return "; the base URL of this client must end with " + version
}

// isVersioned reports whether the SDK of the path's protocol adds the version to a base URL.
func (p path) isVersioned() bool {
	return p.endpoint != nil && p.endpoint.protocol.Upstream.VersionBehindPath
}

func endsBefore(versions []string) string {
	return "the base URL of this client must end before /" + versions[0]
}

// offered reports whether a path is one of ours, for any method.
func (t *paths) offered(name string) bool {
	if p, ok := t.fixed[name]; ok {
		return p.handle == nil
	}
	if _, ok := t.ofStored(name); ok {
		return true
	}
	m, model := t.below(name)
	if m == nil || strings.HasPrefix(model, ":") {
		return false
	}
	_, verb, verbed := strings.Cut(model, ":")
	return model != "" && (!verbed || m.verbs[verb].operation != 0)
}

// unknownFrom is what to say of a path that was meant to be one of ours.
func (t *paths) unknownFrom(ours, hint string) unknownPath {
	found := unknownPath{offered: true, hint: hint, endpoint: t.fixed[ours].endpoint}
	if m, rest := t.below(ours); m != nil && strings.Contains(rest, ":") {
		found.endpoint = m.verbOwner
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

// vendorOf is the endpoint of a path by its first step or its version; nil when the
// caller's headers must decide.
func (t *paths) vendorOf(versions []string, step string) *endpoint {
	if own := t.firstSteps[step]; own != nil {
		return own
	}
	for _, m := range t.models {
		if len(versions) > 0 && m.owner != nil && strings.HasPrefix(m.prefix, "/"+versions[len(versions)-1]+"/") {
			return m.owner
		}
	}
	return nil
}

// guess is the endpoint of a request to a path that is none of ours.
func (e *Edge) guess(r *http.Request) *endpoint {
	if endpoint := e.paths.unknown(r.URL.Path).endpoint; endpoint != nil {
		return endpoint
	}
	return e.callersEndpoint(r)
}

func (t *paths) notFound(asked *url.URL) error {
	name := asked.Path
	found, shown := t.unknown(name), clip(strings.ToValidUTF8(name, "\uFFFD"), 200)
	switch {
	case strings.Contains(strings.ToUpper(asked.RawPath), "%2F") && t.offered(name): // so it is none of ours only as it was written
		return fault.New(fault.NotFound, fault.ReasonPathNotFound, "unknown path %s; this server answers at %s, whose slashes must not be escaped", clip(asked.EscapedPath(), 200), shown)
	case !found.offered:
		return fault.New(fault.NotFound, fault.ReasonPathNotFound, "%s is not offered by this server", shown)
	}
	return fault.New(fault.NotFound, fault.ReasonPathNotFound, "unknown path %s%s", shown, clip(strings.ToValidUTF8(found.hint, "\uFFFD"), 400))
}
