package store

import (
	"errors"
	"net"
	"testing"
	"testing/synctest"
	"time"
)

func TestStatementTimeout(t *testing.T) {
	for text, want := range map[string]time.Duration{
		"": 0, "0": 0, "60s": time.Minute, "1500": 1500 * time.Millisecond, "2min": 2 * time.Minute, "1 h": time.Hour, "'1d'": 24 * time.Hour,
		"250us": 250 * time.Microsecond, "1.5s": 1500 * time.Millisecond, "-1": 0, "soon": 0, "9999999999d": 0, "100000000d": 0,
	} {
		if got := statementTimeout(text); got != want {
			t.Errorf("%q: %v, want %v", text, got, want)
		}
	}
}

// A server that takes what is written says nothing meanwhile and is not given up; its silence begins with the last
// byte that it took, and a Write that it does not take ends as well.
func TestSilenceBeginsBehindTheLastWrite(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		client, server := net.Pipe()
		conn := newSilenceConn(client, time.Minute)
		begin := time.Now()
		read := make(chan error, 1)
		go func() {
			_, err := conn.Read(make([]byte, 1))
			read <- err
		}()
		row := []byte("row")
		for range 3 {
			time.Sleep(50 * time.Second) //nolint:forbidigo // the bubble's clock
			go func() { _, _ = server.Read(make([]byte, len(row))) }()
			if _, err := conn.Write(row); err != nil {
				t.Fatalf("after %v: %v", time.Since(begin), err)
			}
		}
		_, err := conn.Write(row)
		for _, err := range []error{err, <-read} {
			if _, silent := errors.AsType[silenceError](err); !silent || time.Since(begin) != 210*time.Second {
				t.Errorf("after %v: %v", time.Since(begin), err)
			}
		}
	})
}

// pgx reads what is left of a connection that it closes, while its own reader may still be in a Read.
func TestReadsAtOnceAreGivenUp(t *testing.T) {
	for name, answer := range map[string]string{"answered": "xy", "silent": ""} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				client, server := net.Pipe()
				defer server.Close()
				conn := newSilenceConn(client, time.Minute)
				begin := time.Now()
				reads := make(chan error, 2)
				for range 2 {
					go func() {
						_, err := conn.Read(make([]byte, 1))
						reads <- err
					}()
				}
				synctest.Wait()
				if answer != "" {
					if _, err := server.Write([]byte(answer)); err != nil {
						t.Fatal(err)
					}
				}
				for range 2 {
					if err, want := <-reads, (silenceError{time.Minute}); answer == "" && !errors.Is(err, want) || answer != "" && err != nil {
						t.Error(err)
					}
				}
				if waited := time.Since(begin); (waited == time.Minute) != (answer == "") {
					t.Errorf("they ended after %v", waited)
				}
				_ = conn.Close()
			})
		})
	}
}
