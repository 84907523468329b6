// Package openresponses holds the gateway to what Open Responses, the public
// specification of the responses protocol, demands of response objects, of their items and
// of streams: members that must be there, and their types, in words of our own. Each test
// asks the sandbox, and the sandbox behind each kind of upstream.
//
// Under the build tag openresponses it also runs the specification's own compliance suite,
// which is no part of the repository (make openresponses).
package openresponses
