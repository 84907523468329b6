package shared

import (
	"context"
	_ "embed" // the scripts

	"github.com/redis/go-redis/v9"
)

var (
	//go:embed amount.lua
	amountText string
	//go:embed meter.lua
	meterText string
	//go:embed reserve.lua
	reserveText string
	//go:embed settle.lua
	settleText string
	//go:embed renew.lua
	renewText string
	//go:embed seed.lua
	seedText string
	//go:embed peek.lua
	peekText string
)

// The scripts. The server runs each as one step.
var (
	reserveScript = newScript(amountText + meterText + reserveText)
	settleScript  = newScript(amountText + meterText + settleText)
	renewScript   = newScript(amountText + meterText + renewText)
	seedScript    = newScript(amountText + seedText)
	peekScript    = newScript(amountText + meterText + peekText)
)

// script is one of them, and how the server calls it.
type script struct{ text, hash string }

func newScript(text string) *script {
	return &script{text: text, hash: redis.NewScript(text).Hash()}
}

// run has the server run the script, and sends it the text where it does not know it.
func (s *script) run(ctx context.Context, c *client, keys []string, args ...any) (any, error) {
	answer, err := c.run(ctx, parameters("EVALSHA", s.hash, keys, args)...)
	if unknown(err) {
		answer, err = c.run(ctx, parameters("EVAL", s.text, keys, args)...)
	}
	return answer, err
}

// load sends the server that has the keys the script.
func (s *script) load(ctx context.Context, c *client) error {
	return c.do(func(current redis.UniversalClient) error { //nolint:contextcheck // the commands have it; the connection is of all requests
		if cluster, ok := current.(*redis.ClusterClient); ok {
			node, err := cluster.MasterForKey(ctx, c.key)
			if err != nil {
				return err
			}
			return node.ScriptLoad(ctx, s.text).Err()
		}
		return current.ScriptLoad(ctx, s.text).Err()
	})
}

// parameters are a command that runs a script.
func parameters(command, script string, keys []string, args []any) []any {
	all := append(make([]any, 0, 3+len(keys)+len(args)), command, script, len(keys))
	for _, key := range keys {
		all = append(all, key)
	}
	return append(all, args...)
}
