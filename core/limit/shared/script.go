package shared

import (
	"context"
	_ "embed" // the scripts
	"strings"

	"github.com/gomodule/redigo/redis"
)

var (
	//go:embed amount.lua
	amountText string
	//go:embed meter.lua
	meterText string
	//go:embed reserve.lua
	reserveText string
	//go:embed tell.lua
	tellText string
	//go:embed renew.lua
	renewText string
	//go:embed seed.lua
	seedText string
)

// The scripts. The server runs each as one step.
var (
	reserveScript = newScript(amountText + meterText + reserveText)
	tellScript    = newScript(amountText + meterText + tellText)
	renewScript   = newScript(amountText + meterText + renewText)
	seedScript    = newScript(seedText)
)

// script is one of them, and how the server calls it.
type script struct{ text, hash string }

func newScript(text string) *script {
	return &script{text: text, hash: redis.NewScript(-1, text).Hash()}
}

// run has the server run the script, and tells it first where it does not know it.
func (s *script) run(ctx context.Context, c *client, keys []string, args ...any) (any, error) {
	var answer any
	err := c.do(ctx, func(conn *connection) error {
		var err error
		answer, err = conn.ask("EVALSHA", parameters(s.hash, keys, args)...)
		if unknown(err) {
			answer, err = conn.ask("EVAL", parameters(s.text, keys, args)...)
		}
		return err
	})
	return answer, err
}

// load tells the server the script.
func (s *script) load(ctx context.Context, c *client) error {
	return c.do(ctx, func(conn *connection) error {
		_, err := conn.ask("SCRIPT", "LOAD", s.text)
		return err
	})
}

// parameters are those of EVAL and EVALSHA.
func parameters(script string, keys []string, args []any) []any {
	all := append(make([]any, 0, 2+len(keys)+len(args)), script, len(keys))
	for _, key := range keys {
		all = append(all, key)
	}
	return append(all, args...)
}

// unknown reports whether the server says that it knows no such script: then it has run
// nothing.
func unknown(err error) bool {
	return err != nil && strings.HasPrefix(err.Error(), "NOSCRIPT")
}
