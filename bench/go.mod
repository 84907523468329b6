module github.com/genway/genway/bench

go 1.26.0

require (
	go.uber.org/goleak v1.3.0
	golang.org/x/sys v0.49.0
)

require github.com/google/pprof v0.0.0-20260906184651-6331bc6350fe
