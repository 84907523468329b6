// Command genway is the whole gateway in one process, and the administrator's
// commands.
package main

import (
	"os"

	"github.com/genway/genway/cmd/internal/cli"
)

type command struct {
	Serve   serveCommand       `cmd:"" help:"Serve the JSON protocols and gRPC from one process."`
	Health  healthCommand      `cmd:"" help:"Ask a server of this machine whether it is ready. Exits with 0 if it is."`
	Keys    keysCommand        `cmd:"" help:"Create, list, change, rotate and revoke keys. Running servers apply changes within 2 seconds."`
	Console consoleCommand     `cmd:"" help:"Create links that sign in to the console."`
	Audit   auditCommand       `cmd:"" help:"List and verify the audit log."`
	Usage   usageCommand       `cmd:"" help:"Report requests, tokens and costs from the ledger."`
	Ledger  ledgerCommand      `cmd:"" help:"Check, compare or prune the ledger."`
	Migrate migrateCommand     `cmd:"" help:"Print the schema version of the store, migrate it, or wait until it is migrated."`
	Backup  backupCommand      `cmd:"" help:"Write a backup of an SQLite store. Servers keep running."`
	Restore restoreCommand     `cmd:"" help:"Restore an SQLite store from a backup."`
	Store   storeCommand       `cmd:"" help:"Copy a store from SQLite to PostgreSQL."`
	Prices  pricesCommand      `cmd:"" help:"Check a file of prices, look up a price, or convert a catalogue."`
	Config  configCommand      `cmd:"" help:"Check a configuration file, or print the schema of one."`
	Import  importCommand      `cmd:"" help:"Convert another gateway's configuration, and say what becomes of each setting."`
	Routes  routesCommand      `cmd:"" help:"Explain which targets would serve a model."`
	Xray    xrayCommand        `cmd:"" help:"Explain what a translation does to a body, member by member. Sends nothing."`
	Models  modelsCommand      `cmd:"" help:"List the models of the routes with their capabilities, or convert a catalogue."`
	Demo    demoCommand        `cmd:"" help:"Fill an empty store with a generated week of keys, requests, failures and costs, to try the console with."`
	Version cli.VersionCommand `cmd:"" help:"Print the version and the commit that it was built from."`
}

func main() {
	os.Exit(cli.Main(program()))
}

func program() cli.Program {
	return cli.Program{
		Name:        "genway",
		Description: "A gateway for text and image generation: six JSON protocols and gRPC in, any upstream out.",
		Grammar:     &command{},
	}
}
