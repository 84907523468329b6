// Package bare is the least that Genway's shape can cost: HTTP in, the contract over gRPC, HTTP
// out, with the libraries that Genway uses (net/http, grpc-gateway's generated handlers, gRPC with
// the codec and the options of internal/transport) and none of its features. It knows no keys,
// limits, ledger, routes, logs, metrics, heartbeats or bounds, and forwards bodies without reading them. What
// Genway costs above it is the price of its features.
package bare
