// Package core is the Generation service: it authenticates a call, checks it,
// sends it to an upstream and accounts for it. Each of these steps is a package
// below this one.
//
// Errors inside are *fault.Error values; status.go is the one place where they
// become gRPC statuses. It must not import the gateway.
package core
