package core

import (
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/genway/genway/core/call"
	genwayv1 "github.com/genway/genway/gen/genway/v1"
	"google.golang.org/protobuf/reflect/protoreflect"
)

const (
	// mostLosses bounds the lost members that are recorded of a call.
	mostLosses = 16
	// otherMember stands for every member that the contract does not have: callers choose
	// the names of those.
	otherMember = "other"
)

// lost records members that could not be carried, by the last name of their paths, each once.
func lost(r *call.Record, losses []*genwayv1.Loss) {
	for _, loss := range losses {
		member := memberOf(loss.GetMember())
		if len(r.Losses) < mostLosses && !slices.Contains(r.Losses, member) {
			r.Losses = append(r.Losses, member)
		}
	}
}

// lostMembers returns the members that were lost, and why reasoning of the request did not fit, as reasoning:REASON,
// separated by commas.
func lostMembers(r *call.Record) string {
	members := strings.Join(r.Losses, ",")
	for _, reason := range slices.Sorted(maps.Keys(r.Mismatches)) {
		if members != "" {
			members += ","
		}
		members += "reasoning:" + reason
	}
	return members
}

// memberOf gives the last name of a path (messages[0].parts[1].cache_control), if it is one
// of the contract's, else other.
func memberOf(path string) string {
	if i := strings.LastIndexByte(path, '.'); i >= 0 {
		path = path[i+1:]
	}
	if i := strings.IndexByte(path, '['); i >= 0 {
		path = path[:i]
	}
	if members()[path] {
		return path
	}
	return otherMember
}

// members are the names of all fields of the contract.
var members = sync.OnceValue(func() map[string]bool {
	names := map[string]bool{}
	seen := map[protoreflect.FullName]bool{}
	var walk func(protoreflect.MessageDescriptor)
	walk = func(m protoreflect.MessageDescriptor) {
		if seen[m.FullName()] {
			return
		}
		seen[m.FullName()] = true
		fields := m.Fields()
		for i := range fields.Len() {
			field := fields.Get(i)
			names[string(field.Name())] = true
			if field.Message() != nil {
				walk(field.Message())
			}
		}
	}
	for _, m := range []protoreflect.ProtoMessage{&genwayv1.GenerateTextRequest{}, &genwayv1.GenerateTextResponse{}, &genwayv1.StreamGenerateTextResponse{}, &genwayv1.GenerateImageRequest{}, &genwayv1.GenerateImageResponse{}} {
		walk(m.ProtoReflect().Descriptor())
	}
	return names
})
