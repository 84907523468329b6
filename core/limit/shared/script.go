package shared

import (
	_ "embed" // the scripts

	"github.com/redis/go-redis/v9"
)

var (
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
	reserveScript = redis.NewScript(meterText + reserveText)
	tellScript    = redis.NewScript(meterText + tellText)
	renewScript   = redis.NewScript(meterText + renewText)
	seedScript    = redis.NewScript(seedText)
)
