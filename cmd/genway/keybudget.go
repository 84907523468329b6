package main

import (
	"io"

	"github.com/genway/genway/cmd/internal/coreproc"
	"github.com/genway/genway/core/config"
	"github.com/genway/genway/core/keys"
)

// warnOfBudget says that requests under a budget will be refused, where the configuration
// that the command was given has no prices to count them by. Of a server elsewhere, or
// without a configuration of prices to look at, nothing is known.
func warnOfBudget(stderr io.Writer, data coreproc.Data, server string, given keys.Settings) error {
	if server != "" || len(given.Policy.Limits.Budgets) == 0 {
		return nil
	}
	if data.Config == "" {
		_, err := io.WriteString(stderr, "warning: a budget needs prices, or all requests of this key are refused; without --config it is not known whether the server has any: "+config.PricesRemedy+"\n")
		return err
	}
	c, err := config.Load(data.Config, nil)
	if err != nil || c.Prices != "" || c.Limits != nil && c.Limits.Unpriced == "allow" {
		return nil //nolint:nilerr // the server reports what is wrong with it
	}
	_, err = io.WriteString(stderr, "warning: "+data.Config+" has no prices, so all requests of this key, which has a budget, are refused: "+config.PricesRemedy+"\n")
	return err
}
