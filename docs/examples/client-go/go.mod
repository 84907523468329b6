module github.com/genway/genway/docs/examples/client-go

go 1.26.8

toolchain go1.26.11

require (
	github.com/genway/genway v0.0.0
	google.golang.org/grpc v1.85.0
)

require (
	golang.org/x/net v0.61.0 // indirect
	golang.org/x/sys v0.49.0 // indirect
	golang.org/x/text v0.43.0 // indirect
	google.golang.org/genproto/googleapis/api v0.0.0-20261019180522-ce908d29299b // indirect
	google.golang.org/genproto/googleapis/rpc v0.0.0-20261019180522-ce908d29299b // indirect
	google.golang.org/protobuf v1.36.12 // indirect
)

// In a program of your own: go get github.com/genway/genway
replace github.com/genway/genway => ../../..
