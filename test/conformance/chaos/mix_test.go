package chaos

import (
	"math/rand/v2"
	"slices"

	"github.com/genway/genway/test/conformance/caller"
	"github.com/genway/genway/test/conformance/vendors"
)

// request is one of a mix, with what is to become of it.
type request struct {
	n    int
	call caller.Call
	do   string
	// drains says that the upstream's answer is read to its end when the caller leaves.
	drains bool
	// refused is one that is never accepted: a wrong key, a broken body.
	refused bool
}

// leaves says that the caller does not stay for the answer.
func (r request) leaves() bool { return r.do == vendors.LeaveFirst || r.do == vendors.LeaveMiddle }

// mixed is the n-th request of the mix: in a hundred ten meet a fault of the upstream, two
// more one that a second try mends, five callers leave, and three are not accepted.
func mixed(keys map[string]string, n int) request {
	random := rand.New(rand.NewPCG(uint64(n), 5)) // the same each time
	r := request{n: n, do: vendors.Answer, drains: random.IntN(2) == 0}
	protocol := slices.Concat(caller.Text(), []string{"grpc"})[random.IntN(5)]
	r.call = caller.Call{Protocol: protocol, Stream: random.IntN(2) == 0, Key: keys[caller.Group(protocol)]}
	switch in100 := random.IntN(100); {
	case in100 < 3:
		r.do = vendors.Broken
	case in100 < 5:
		r.do = vendors.Busy
	case in100 < 8:
		r.do = vendors.Cut
	case in100 < 10:
		r.do = vendors.Garbage
	case in100 < 12:
		r.do = vendors.Once
	case in100 < 14:
		r.do = vendors.LeaveFirst
	case in100 < 17:
		r.do = vendors.LeaveMiddle
	case in100 < 19:
		r.call.Key, r.refused = "gwk_wrong", true
	case in100 < 20:
		r.call.Broken, r.refused = true, true
	}
	words := "cancel"
	if r.drains {
		words = "drain"
	}
	to := "own"
	if random.IntN(2) == 0 {
		to = vendors.Protocols()[random.IntN(4)]
	}
	r.call.Model = vendors.Model(r.do, words+"-"+to, n)
	return r
}
