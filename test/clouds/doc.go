// Package clouds plays the issuers of clouds for tests, strictly: a request that the real
// service would refuse is refused. It checks signatures of AWS by its own reading of the
// specification, and assertions of JWT. It has the schemas that vendors document of chat
// completions, for fakes that refuse what is not in them.
//
// No command may import it.
package clouds
