package coreproc

import (
	"cmp"

	"github.com/genway/genway/core/admin"
	"github.com/genway/genway/core/config"
	"github.com/genway/genway/core/route"
	adminv1 "github.com/genway/genway/gen/genway/admin/v1"
	"github.com/genway/genway/protocol"
	"google.golang.org/protobuf/types/known/durationpb"
)

// Upstreams are those of the routes in force.
func (r *Routing) Upstreams() []*adminv1.Upstream {
	called := r.Called()
	var list []*adminv1.Upstream
	for _, s := range r.Router.Upstreams() {
		u := &adminv1.Upstream{
			Name: s.Target.Name, Protocol: spokenName(&s.Target), Breaker: breakers[s.Breaker], FailingChecks: s.Unfit, Healthy: !s.Unfit && s.Breaker < 2,
			InFlight: int64(s.InFlight), Waiting: int64(s.Waiting), Most: int64(s.Most), Routes: s.Routes,
		}
		if c := called[s.Target.Name]; c != nil {
			u.Address = c.URL("{model}")
		}
		list = append(list, u)
	}
	return list
}

var breakers = map[int]adminv1.Breaker{0: adminv1.Breaker_BREAKER_CLOSED, 1: adminv1.Breaker_BREAKER_HALF_OPEN, 2: adminv1.Breaker_BREAKER_OPEN}

// spokenName names the protocol of a target; empty for the contract's messages.
func spokenName(t *route.Target) string {
	if p := protocol.Of(t.Protocol); p != protocol.Direct {
		return p.Name
	}
	return ""
}

// Routes are those in force.
func (r *Routing) Routes() []*adminv1.Route {
	var list []*adminv1.Route
	for _, from := range r.Router.Routes() {
		m := &adminv1.Route{Model: from.Model, Strategy: strategyNames[from.Strategy], Sticky: from.Sticky, Strict: from.Strict}
		m.Capture = admin.CaptureMessage(from.Capture)
		for _, p := range from.Protocols {
			m.Protocols = append(m.Protocols, protocol.Of(p).Name)
		}
		if from.Deadline > 0 {
			m.Deadline = durationpb.New(from.Deadline)
		}
		for i := range from.Targets {
			t := &from.Targets[i]
			m.Targets = append(m.Targets, &adminv1.RouteTarget{Upstream: t.Name, Model: t.Model, Weight: int32(cmp.Or(t.Weight, 1)), Overrides: t.Overrides.String()})
		}
		for i := range from.Fallback {
			t := &from.Fallback[i]
			m.Fallback = append(m.Fallback, &adminv1.RouteTarget{Upstream: t.Name, Model: t.Model, Overrides: t.Overrides.String()})
		}
		list = append(list, m)
	}
	return list
}

var strategyNames = map[route.Strategy]string{route.ByWeight: "weight", route.LeastBusy: "least_busy", route.Fastest: "fastest"}

// Configuration is the one in force, without what may be a secret.
func (r *Routing) Configuration() *adminv1.GetConfigurationResponse {
	r.mu.Lock()
	file, hash, running, members := r.file, r.hash, r.shown, r.members
	r.mu.Unlock()
	resp := &adminv1.GetConfigurationResponse{
		Source: file, Hash: hash, FileHash: hashOf(file), Writable: r.writable && file != "", Members: bySource(r.settings, members),
	}
	if resp.Current = resp.FileHash == hash; !resp.Current {
		resp.RunningYaml = running
	}
	if file == "" {
		return resp
	}
	masked, err := config.Masked(file)
	resp.Yaml = string(masked)
	if err != nil {
		resp.Problem = err.Error()
	}
	return resp
}
