package core

import (
	"context"
	"errors"
	"strings"

	"github.com/genway/genway/codec/fault"
	"github.com/genway/genway/core/call"
	"github.com/genway/genway/core/keys"
	genwayv1 "github.com/genway/genway/gen/genway/v1"
	"github.com/genway/genway/internal/overload"
	"github.com/genway/genway/internal/transport"
)

// PriorityKey is the metadata that names to an edge a key's priority if that is batch, and in
// which an edge in the same process says that it knows.
const PriorityKey = "genway-priority"

// admit refuses a call while the process is overloaded. Only calls of Generation are
// refused, and of those not the question whether a key is good: administration and health
// work when they are needed most.
func (i Interceptors) admit(ctx context.Context, record *call.Record) error {
	if i.Gate == nil || !strings.HasPrefix(record.Method, generation) || record.Method == genwayv1.Generation_CheckAccess_FullMethodName {
		return nil
	}
	priority := priorityOf(record.Caller)
	if i.InProcess && (priority == overload.Interactive || len(transport.Incoming(ctx, PriorityKey)) > 0) {
		return nil
	}
	err := i.Gate.Admit(ctx, priority)
	if err == nil {
		return nil
	}
	record.Shed = true
	if !record.Caller.Edge { // an edge has callers of its own, whose answers it holds back
		i.Gate.Hold(ctx, record.Start)
	}
	return err
}

// Gatekeeper is an upstream that knows when it would refuse a request for want of a place.
type Gatekeeper interface {
	// Full gives that refusal, or nil.
	Full(protocol genwayv1.Protocol, model string, images bool, p overload.Priority) error
}

// full refuses a request that no upstream has a place for, before it is counted or
// recorded.
func (s *Service) full(record *call.Record, req any, p overload.Priority) error {
	keeper, ok := s.config.Upstream.(Gatekeeper)
	if !ok {
		return nil
	}
	_, images := req.(*genwayv1.GenerateImageRequest)
	return keeper.Full(record.Caller.Protocol, record.AskedModel, images, p)
}

// crowded counts a call that has found no place at an upstream. Nothing was called for it.
func (i Interceptors) crowded(record *call.Record, err error) {
	if f, ok := errors.AsType[*fault.Error](err); ok && f.Reason == fault.ReasonUpstreamBusy && record.Calls == 0 {
		record.Shed = true
		_ = i.Gate.Refuse(overload.Upstream, priorityOf(record.Caller))
	}
}

// generation begins the names of the service's methods.
const generation = "/genway.v1.Generation/"

// priorityOf gives the priority of a caller's key.
func priorityOf(caller call.Caller) overload.Priority {
	if caller.Policy != nil && caller.Policy.Priority == keys.PriorityBatch {
		return overload.Batch
	}
	return overload.Interactive
}
