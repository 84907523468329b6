package messages

import (
	"github.com/genway/genway/codec"
	"github.com/genway/genway/codec/fault"
	"github.com/genway/genway/codec/member"
	genwayv1 "github.com/genway/genway/gen/genway/v1"
)

// Version2026 is the first version that takes less than 2023-06-01: no parameters of sampling,
// no documents among the contents of assistant turns, and no citations on texts of user turns.
// Changes of answers are not known (platform.claude.com/docs/en/api/versioning, excerpt read
// 2026-11-23).
const Version2026 = "2026-10-21"

var _ codec.Versioned = Codec{}

// CheckVersion implements codec.Versioned.
func (Codec) CheckVersion(req *genwayv1.GenerateTextRequest, version string) error {
	if version < Version2026 {
		return nil
	}
	if lacks := lackingSampling(req.GetSampling()); len(lacks) > 0 {
		return untaken("sampling."+lacks[0], version, "")
	}
	for i, m := range req.GetMessages() {
		for j, p := range m.GetParts() {
			path := member.Within(member.Index("messages", i), ".parts", j)
			if at := documentOf(m, p); at != "" {
				return untaken(path+at, version, " in assistant turns")
			}
			if at := citedIn(m, p); at != "" {
				return untaken(path+at, version, " in user turns")
			}
		}
	}
	return nil
}

func untaken(at, version, where string) error {
	return fault.Unsupported(at, "%s: version %s of the messages protocol does not take it%s", at, version, where)
}

// FitVersion implements codec.Versioned. Of a body of this protocol in Wire it takes out what
// it takes out of the request; every other byte stays.
func (Codec) FitVersion(req *genwayv1.GenerateTextRequest, version string, losses *codec.Losses) (*genwayv1.GenerateTextRequest, error) {
	if version < Version2026 {
		return req, nil
	}
	fitted, changes := codec.Shared(req), []member.Member(nil)
	if lacks := lackingSampling(req.GetSampling()); len(lacks) > 0 {
		fitted.Sampling = codec.Shared(req.GetSampling())
		fitted.Sampling.Temperature, fitted.Sampling.TopP, fitted.Sampling.TopK = nil, nil, nil
		for _, name := range lacks {
			losses.Add("sampling."+name, "the upstream's version of the messages protocol refuses it")
			changes = append(changes, member.Member{Name: name})
		}
	}
	messages, err := uncitedMessages(req.GetMessages(), losses)
	if err != nil {
		return nil, err
	}
	wire := req.GetWire()
	own := wire.GetProtocol() == protocol && len(wire.GetJson()) > 0
	if messages != nil {
		fitted.Messages = messages
		if own {
			changes = append(changes, member.Member{Name: "messages", Value: uncitedTurns(member.Value(wire.GetJson(), "messages"))})
		}
	}
	if !own || len(changes) == 0 {
		return fitted, nil
	}
	fitted.Wire = codec.Shared(wire)
	fitted.Wire.Json, err = member.Patch(wire.GetJson(), changes...)
	return fitted, err
}

// lackingSampling names the parameters that are set and refused, as contract and body do.
func lackingSampling(s *genwayv1.Sampling) []string {
	var names []string
	for _, c := range []struct {
		name string
		set  bool
	}{
		{"temperature", s != nil && s.Temperature != nil}, {"top_p", s != nil && s.TopP != nil}, {"top_k", s != nil && s.TopK != nil},
	} {
		if c.set {
			names = append(names, c.name)
		}
	}
	return names
}
