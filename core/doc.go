// Package core is the Generation service: it authenticates a call, checks it,
// hands it to an upstream and accounts for it. Each noun of that is a package
// below this one.
//
// Errors inside are *fault.Error values; status.go is the one place where they
// become gRPC statuses. It must not import the gateway.
package core
