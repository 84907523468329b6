package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"time"

	"github.com/genway/genway/test/bench/load"
	"github.com/genway/genway/test/bench/upstream"
	"github.com/genway/genway/test/bench/workload"
)

// runLoad sends the requests of one of the workloads to an address of the user's.
func runLoad(ctx context.Context, args []string, stdout, stderr io.Writer) error {
	flags := newFlags("load", stderr)
	address := flags.String("address", "127.0.0.1:8080", "HOST:PORT that requests are sent to")
	key := flags.String("key", "sk-bench", "key that they carry")
	protocol := flags.String("protocol", "chat", "chat, responses, messages, generatecontent or images")
	served := flags.String("served", "", "protocol of the upstream, for the model bench-on-PROTOCOL")
	size := flags.Int("size", 1000, "bytes of a request, about")
	stream := flags.Bool("stream", false, "ask for events")
	pieces := flags.Int("pieces", upstream.Defaults().Pieces, "pieces of text that a stream must have")
	connections := flags.Int("connections", 32, "connections")
	rate := flags.Float64("rate", 0, "requests a second, in an open loop; a closed loop when 0")
	duration := flags.Duration("duration", 5*time.Second, "for how long requests are sent")
	ramp := flags.Duration("ramp", 0, "time over which the connections begin, in a closed loop; all at once when 0")
	timeout := flags.Duration("timeout", 30*time.Second, "how long an answer may take")
	minimum := flags.Int("minbytes", 1, "bytes of an answer, at least")
	if err := flags.Parse(args); err != nil {
		return err
	}
	if *connections < 1 {
		return errors.New("load: at least one connection is needed")
	}
	asked, on := workload.Protocol(*protocol), workload.Protocol(*served)
	for _, p := range []workload.Protocol{asked, on} {
		if p != "" && p != workload.Images && !slices.Contains(workload.Texts(), p) {
			return fmt.Errorf("load: no such protocol: %s", p)
		}
	}
	w := workload.Workload{
		Caller: asked, Served: on, Size: *size, Stream: *stream,
		Upstream: upstream.Settings{Pieces: *pieces}, MinBytes: *minimum,
	}
	client := load.NewClient(*address, *connections, *timeout)
	defer client.Close()
	result := client.Do(ctx, w.Job(workload.Recipient{Address: *address, Key: *key}), load.Run{Duration: *duration, Rate: *rate, Ramp: *ramp})
	return json.NewEncoder(stdout).Encode(result)
}
