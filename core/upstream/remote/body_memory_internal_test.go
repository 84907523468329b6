package remote

import (
	"errors"
	"net/http/httptrace"
	"testing"

	"github.com/genway/genway/core/call"
)

// A call has sent its request where the transport wrote it whole each time that it began to.
func TestNoteSent(t *testing.T) {
	whole, cut := httptrace.WroteRequestInfo{}, httptrace.WroteRequestInfo{Err: errors.New("cut")}
	for name, c := range map[string]struct {
		begun int32
		wrote []httptrace.WroteRequestInfo
		want  int64
	}{
		"once":                         {1, []httptrace.WroteRequestInfo{whole}, 1},
		"again over a new connection":  {2, []httptrace.WroteRequestInfo{whole, whole}, 1},
		"the first attempt was cut":    {2, []httptrace.WroteRequestInfo{cut, whole}, 0},
		"the answer came early":        {1, nil, 0},
		"one is still under way":       {2, []httptrace.WroteRequestInfo{whole}, 0},
		"no connection":                {0, nil, 0},
		"nobody listens to the writer": {1, []httptrace.WroteRequestInfo{cut}, 0},
	} {
		a := &answer{record: new(call.Record)}
		a.sent.Store(c.begun)
		for _, info := range c.wrote {
			a.wroteRequest(info)
		}
		if a.noteSent(); a.record.BodySent != c.want {
			t.Errorf("%s: %d", name, a.record.BodySent)
		}
	}
}
