package cores

import (
	"bytes"
	"net"
	"testing"

	"github.com/genway/genway/internal/target"
)

// Case N79: the error of a lookup names the DNS server of the target, which was asked, and not the system's.
func TestLookupsNameTheirServer(t *testing.T) {
	server, err := new(net.ListenConfig).ListenPacket(t.Context(), "udp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer server.Close()
	go func() {
		for query := make([]byte, 512); ; {
			n, from, err := server.ReadFrom(query)
			if err != nil || n < 12 {
				return
			}
			query[2], query[3] = 0x81, 0x83 // an answer: no such name
			query[10], query[11] = 0, 0     // without the additional record of the question
			end := 12 + bytes.IndexByte(query[12:n], 0) + 5
			_, _ = server.WriteTo(query[:end], from)
		}
	}()
	targets, err := target.ParseAll([]string{"dns://" + server.LocalAddr().String() + "/nobody.test.:9090"})
	if err != nil {
		t.Fatal(err)
	}
	_, err = lookup(targets[0])(t.Context())
	if want := "lookup nobody.test. on " + server.LocalAddr().String() + ": no such host"; err == nil || err.Error() != want {
		t.Errorf("got %v, want %s", err, want)
	}
}
