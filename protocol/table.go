package protocol

import (
	"cmp"
	"fmt"
	"slices"
	"sync/atomic"

	"github.com/genway/genway/codec/listing"
	genwayv1 "github.com/genway/genway/gen/genway/v1"
)

// registered are the protocols, in the order in which they are listed to people. The list
// is replaced, never changed.
var registered = tableOf(&chatCompletions, &responsesProtocol, &messagesProtocol, &generateContent, &imagesProtocol)

func tableOf(all ...*Protocol) *atomic.Pointer[[]*Protocol] {
	table := &atomic.Pointer[[]*Protocol]{}
	table.Store(&all)
	return table
}

// Direct stands for callers of the contract itself, which speak no JSON protocol. It has
// no paths and no codec.
var Direct = &Protocol{ID: genwayv1.Protocol_PROTOCOL_UNSPECIFIED, Name: "grpc", Kind: "grpc", KeyGroup: "internal", Telemetry: Telemetry{Provider: "genway", Operation: OperationChat}}

// unknown is a protocol that is not registered.
var unknown = &Protocol{}

// Register adds a protocol to the table, which keeps a copy. It is for wiring code and
// tests, and is called before the edges and cores are made that are to serve the protocol:
// each of them reads the table when it is made. The error names what is missing, or what
// another protocol has already.
func Register(p *Protocol) error {
	if p.ID == Direct.ID || p.Name == "" || p.Kind == "" || p.main() == nil || p.Codec == nil && !p.Images {
		return fmt.Errorf("protocol: %q (%d, kind %q): expected an ID, a name, a kind, a path that generates and a codec", p.Name, p.ID, p.Kind)
	}
	own := *p
	own.Upstream.Listing = cmp.Or(p.Upstream.Listing, listing.OpenAI)
	own.Telemetry.Provider, own.Telemetry.Operation = cmp.Or(p.Telemetry.Provider, p.Kind), cmp.Or(p.Telemetry.Operation, OperationChat)
	for {
		old := registered.Load()
		for _, other := range append(slices.Clone(*old), Direct) {
			if other.ID == p.ID || other.Name == p.Name || other.Kind == p.Kind {
				return fmt.Errorf("protocol: %s (%d, kind %s): %s has that number, name or kind already", p.Name, p.ID, p.Kind, other.Name)
			}
			for _, b := range p.Bindings {
				if slices.ContainsFunc(other.Bindings, b.same) {
					return fmt.Errorf("protocol: %s: the path %s%s is %s's already", p.Name, b.Prefix, b.Suffix, other.Name)
				}
			}
		}
		list := append(slices.Clone(*old), &own)
		if registered.CompareAndSwap(old, &list) {
			return nil
		}
	}
}

// All returns the registered protocols in the order in which they are listed to people. The
// list must not be changed.
func All() []*Protocol { return *registered.Load() }

// Of returns the protocol of that ID: Direct for PROTOCOL_UNSPECIFIED, and a Protocol
// without names and codec for one that is not registered. It is never nil.
func Of(id genwayv1.Protocol) *Protocol {
	if id == Direct.ID {
		return Direct
	}
	for _, p := range All() {
		if p.ID == id {
			return p
		}
	}
	return unknown
}

// ByName returns the protocol of that Name; nil for none.
func ByName(name string) *Protocol {
	for _, p := range All() {
		if p.Name == name {
			return p
		}
	}
	return nil
}

// ByKind returns the protocol of that Kind; nil for none. Direct is one.
func ByKind(kind string) *Protocol {
	for _, p := range append(slices.Clip(All()), Direct) {
		if p.Kind == kind {
			return p
		}
	}
	return nil
}

// Kinds returns the Kind of each registered protocol, in their order.
func Kinds() []string {
	var kinds []string
	for _, p := range All() {
		kinds = append(kinds, p.Kind)
	}
	return kinds
}

// ErrorCodec returns the codec of the protocol's errors.
func (p *Protocol) ErrorCodec() ErrorCodec {
	if p.Errors != nil {
		return p.Errors
	}
	return p.Codec
}
