package config

import (
	"time"

	"github.com/genway/genway/protocol"
)

// minCheck and maxCheck bound the time from one check to the next.
const minCheck, maxCheck = time.Second, time.Hour

// checkCheck demands a check that can be made.
func (u Upstream) checkCheck(all *checks, at string) {
	if u.Check == nil {
		return
	}
	switch every := time.Duration(u.Check.Every); {
	case u.Kind == Sandbox:
		all.wrongf(at+".check", "the sandbox is a part of the process: there is nothing to check")
	case every == 0:
		all.wrongf(at+".check", "every is missing: the time from one check to the next, as 30s")
	case every < minCheck || every > maxCheck:
		all.wrongf(at+".check.every", "expected %v to %v, got %v", minCheck, maxCheck, every)
	}
	if p := protocol.ByKind(u.Kind); p != nil && p.Images && u.Check.Model != "" {
		all.wrongf(at+".check.model", "a check draws no image; leave it out, and the upstream is asked for its list of models")
	}
	if e := u.Place(); e != nil && e.NoList && u.Check.Model == "" {
		all.wrongf(at+".check", "model is missing: provider %s does not list its models there", u.Provider)
	}
}
