package model

import (
	"bytes"
	"encoding/binary"
	"strings"
	"testing"
)

// TestBytes reads the head of the file back and demands that all tensors are in it.
func TestBytes(t *testing.T) {
	file := Bytes()
	var head struct {
		Magic         [4]byte
		Version       uint32
		Tensors, Keys uint64
	}
	if err := binary.Read(bytes.NewReader(file), binary.LittleEndian, &head); err != nil {
		t.Fatal(err)
	}
	if string(head.Magic[:]) != "GGUF" || head.Version != 3 || head.Tensors != 12 || head.Keys != 24 {
		t.Errorf("head %+v", head)
	}
	if len(file) < 1<<20 || len(file) > 4<<20 {
		t.Errorf("%d bytes", len(file))
	}
	if !bytes.Equal(file, Bytes()) {
		t.Error("another time it is another file")
	}
}

// TestSentence walks from a beginning to the end by what is wanted most.
func TestSentence(t *testing.T) {
	v := newVocabulary()
	var text strings.Builder
	token := int(v.start)
	for range len(v.tokens) {
		best := 0
		for next := range v.tokens {
			if v.follows(next, token) > v.follows(best, token) {
				best = next
			}
		}
		if best == int(v.end) {
			break
		}
		text.WriteString(strings.ReplaceAll(v.tokens[best], "▁", " "))
		token = best
	}
	if got := text.String(); got != Sentence {
		t.Errorf("says %q", got)
	}
}
