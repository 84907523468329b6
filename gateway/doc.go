// Package gateway is the edge: it maps the six JSON protocols onto the
// Generation service with grpc-gateway. Each protocol is an endpoint: a ServeMux
// of the runtime with the generated registration and one marshaler of its own,
// because the runtime chooses marshalers only by MIME type and all protocols have
// application/json. Edge finds the endpoint of a public path (edge.go).
//
// The edge moves the caller's key to where the core expects it, bounds and decodes
// bodies, renders every failure in the caller's protocol and with the caller's names
// (protocol.Names), frames streams and decides which web pages may call it. It keeps no
// keys, no models and no state between requests.
//
// It must not import core or anything below it.
package gateway
