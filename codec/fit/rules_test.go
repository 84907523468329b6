package fit_test

import (
	"github.com/genway/genway/codec/fit"
	genwayv1 "github.com/genway/genway/gen/genway/v1"
	"github.com/genway/genway/protocol"
)

// rulesOf returns the rules of a protocol.
func rulesOf(id genwayv1.Protocol) fit.Rules { return protocol.Of(id).Upstream.Fit }
