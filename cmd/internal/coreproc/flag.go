package coreproc

import (
	"os"

	"github.com/genway/genway/cmd/internal/cli"
	"github.com/genway/genway/core/config"
	"github.com/genway/genway/core/store"
)

// Flag is what other commands need to find the same data, beside the environment.
// It has no URL, which may have a password.
func (d Data) Flag(getenv func(string) string) (string, error) {
	switch {
	case d.Store != "" && d.Store == getenv("GENWAY_STORE"):
		return "", nil
	case store.IsPostgres(d.Store):
		return " --store URL", nil
	case d.Store != "":
		return " --store " + cli.ShellWord(d.Store), nil
	}
	if d.Config != "" && d.Config != getenv("GENWAY_CONFIG") {
		location, err := config.LoadStore(d.Config, os.LookupEnv)
		if location != "" || err != nil {
			return " --config " + cli.ShellWord(d.Config), err
		}
	}
	if d.Dir != "" {
		return " --data " + cli.ShellWord(d.Dir), nil
	}
	return "", nil
}
