package main

import (
	"bytes"
	"errors"
	"io"
	"os"
	"testing"

	"pgregory.net/rapid"
)

// What is written comes back from any place on, in pieces of any length, and is in the file in no
// clear form.
func TestSpool(t *testing.T) {
	s, err := newSpool()
	if err != nil {
		t.Fatal(err)
	}
	var want []byte
	rapid.Check(t, func(t *rapid.T) {
		piece := rapid.SliceOfN(rapid.Byte(), 0, 100).Draw(t, "piece")
		if n, err := s.Write(piece); n != len(piece) || err != nil {
			t.Fatal(n, err)
		}
		want = append(want, piece...)
		from := rapid.IntRange(0, len(want)).Draw(t, "from")
		if _, err := s.Seek(int64(from), io.SeekStart); err != nil {
			t.Fatal(err)
		}
		step := rapid.IntRange(1, 40).Draw(t, "step")
		var got []byte
		for {
			p := make([]byte, step)
			n, err := s.Read(p)
			got = append(got, p[:n]...)
			if errors.Is(err, io.EOF) {
				break
			}
			if err != nil {
				t.Fatal(err)
			}
		}
		if !bytes.Equal(got, want[from:]) {
			t.Fatalf("from %d by %d: %d bytes of %d", from, step, len(got), len(want)-from)
		}
	})
	secret := []byte("gwk_0123456789abcdef")
	if _, err := s.Write(secret); err != nil {
		t.Fatal(err)
	}
	raw, err := os.ReadFile(s.file.Name())
	if err != nil || bytes.Contains(raw, secret) || len(raw) != len(want)+len(secret) {
		t.Errorf("the file has %d bytes, %v", len(raw), err)
	}
	for _, whence := range []int{io.SeekCurrent, io.SeekEnd} {
		if _, err := s.Seek(0, whence); err == nil {
			t.Errorf("sought by %d", whence)
		}
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(s.file.Name()); !os.IsNotExist(err) {
		t.Errorf("the file stays: %v", err)
	}
}
