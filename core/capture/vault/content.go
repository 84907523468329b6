package vault

import (
	"bytes"

	"github.com/genway/genway/core/capture"
	"github.com/go-json-experiment/json"
)

// A row's content is a line of JSON, which describes the bodies, and behind it their bytes, one
// body after the other.

type described struct {
	capture.Body
	Length int `json:"length"`
}

func encode(bodies []capture.Body) ([]byte, error) {
	list, size := make([]described, len(bodies)), 0
	for i, b := range bodies {
		list[i] = described{b, len(b.Data)}
		size += len(b.Data)
	}
	head, err := json.Marshal(list)
	if err != nil {
		return nil, err //nolint:wrapcheck // of names and numbers
	}
	content := make([]byte, 0, len(head)+1+size)
	content = append(append(content, head...), '\n')
	for _, b := range bodies {
		content = append(content, b.Data...)
	}
	return content, nil
}

func decode(content []byte) ([]capture.Body, error) {
	head, rest, ok := bytes.Cut(content, []byte("\n"))
	var list []described
	if !ok || json.Unmarshal(head, &list) != nil {
		return nil, ErrDamaged
	}
	bodies := make([]capture.Body, len(list))
	for i, d := range list {
		if d.Length < 0 || d.Length > len(rest) {
			return nil, ErrDamaged
		}
		bodies[i], rest = d.Body, rest[d.Length:]
		bodies[i].Data = content[len(content)-len(rest)-d.Length : len(content)-len(rest)]
	}
	if len(rest) > 0 {
		return nil, ErrDamaged
	}
	return bodies, nil
}
