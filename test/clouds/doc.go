// Package clouds plays the issuers of clouds for tests, strictly: a request that the real
// service would refuse is refused. It checks signatures of AWS by its own reading of the
// specification, and assertions of JWT.
//
// No command may import it.
package clouds
