package coreproc

import (
	"strings"
	"time"
)

// connectionAge is the age at which connections of the gRPC side are replaced; 0 for
// never. Behind a unix socket there is one core for good.
func (f CoreFlags) connectionAge() time.Duration {
	if strings.HasPrefix(f.GRPC, "unix:") {
		return 0
	}
	return f.MaxAge
}
