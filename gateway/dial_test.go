package gateway

import (
	"context"
	"errors"
	"net"
	"testing"
	"testing/synctest"
	"time"

	"google.golang.org/grpc"
)

// A core that was away for long is found again within seconds of its return.
func TestTheCoreIsLookedForAtAnyTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var attempts []time.Time
		away := grpc.WithContextDialer(func(context.Context, string) (net.Conn, error) {
			attempts = append(attempts, time.Now())
			return nil, errors.New("away")
		})
		conn, err := grpc.NewClient("passthrough:///core", append(CoreConfig{}.options(), away, grpc.WithTransportCredentials(CoreConfig{}.credentials()))...)
		if err != nil {
			t.Fatal(err)
		}
		conn.Connect()
		time.Sleep(5 * time.Minute) //nolint:forbidigo // the bubble's own clock
		if err := conn.Close(); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		for i := 1; i < len(attempts); i++ {
			if wait := attempts[i].Sub(attempts[i-1]); wait > longestWait*6/5 {
				t.Fatalf("attempt %d of %d came after %v", i, len(attempts), wait)
			}
		}
		if soon := attempts[0].Add(150 * time.Millisecond); len(attempts) < 5 || attempts[4].After(soon) {
			t.Errorf("fewer than five of %d attempts within 150 ms", len(attempts))
		}
		if len(attempts) < 100 {
			t.Errorf("%d attempts in five minutes", len(attempts))
		}
	})
}
