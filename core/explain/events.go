package explain

import (
	"bytes"
	"encoding/json"

	"github.com/genway/genway/codec"
	"github.com/genway/genway/codec/fault"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
)

// writeLines writes events of the contract as JSON, one a line.
func writeLines[E proto.Message](events []E) ([]byte, error) {
	var out bytes.Buffer
	for _, ev := range events {
		line, err := protojson.Marshal(ev)
		if err != nil {
			return nil, err
		}
		if err := json.Compact(&out, line); err != nil {
			return nil, err
		}
		out.WriteByte('\n')
	}
	return out.Bytes(), nil
}

// writeFrames encodes events as server-sent events.
func writeFrames[E proto.Message](events []E, encode func(E) ([]codec.Frame, error)) ([]byte, error) {
	var out bytes.Buffer
	for _, ev := range events {
		frames, err := encode(ev)
		if err != nil {
			return nil, err
		}
		for _, f := range frames {
			if f.Event != "" {
				out.WriteString("event: " + f.Event + "\n")
			}
			out.WriteString("data: ")
			out.Write(f.Data)
			out.WriteString("\n\n")
		}
	}
	return out.Bytes(), nil
}

// sendAll sends the events that were read of a stream before err. A stream whose last event does not complete
// it was cut.
func sendAll[E proto.Message](events []E, err error, completes func(E) bool, send func(E) error) error {
	for _, ev := range events {
		if err := send(ev); err != nil {
			return err
		}
	}
	if err == nil && (len(events) == 0 || !completes(events[len(events)-1])) {
		err = cutStream()
	}
	return err
}

// cutStream is the fault of a stream that ends without its end.
func cutStream() error {
	return fault.StreamCut()
}
