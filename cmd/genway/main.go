// Command genway is the whole gateway in one process, and the administrator's
// commands.
package main

import (
	"os"

	"github.com/genway/genway/cmd/internal/cli"
)

type command struct {
	Serve   serveCommand       `cmd:"" help:"Serve the JSON protocols and gRPC from one process."`
	Health  healthCommand      `cmd:"" help:"Ask a server of this machine whether it is ready: the exit code is 0 if it is."`
	Keys    keysCommand        `cmd:"" help:"Make, list, change, rotate and revoke keys. Takes effect within 2 seconds, in running servers too."`
	Console consoleCommand     `cmd:"" help:"Make links that sign in to the console."`
	Audit   auditCommand       `cmd:"" help:"List and verify the record of what was changed."`
	Usage   usageCommand       `cmd:"" help:"Report what requests used, from the ledger."`
	Ledger  ledgerCommand      `cmd:"" help:"Prove the ledger, or remove its old rows."`
	Migrate migrateCommand     `cmd:"" help:"Say which schema the store has, bring it up to date, or wait until it is."`
	Backup  backupCommand      `cmd:"" help:"Write a backup of an SQLite store, while servers run."`
	Restore restoreCommand     `cmd:"" help:"Put a backup in the place of an SQLite store."`
	Store   storeCommand       `cmd:"" help:"Copy a store from SQLite to PostgreSQL."`
	Prices  pricesCommand      `cmd:"" help:"Check a file of prices, look one up, or make a file of another catalogue."`
	Config  configCommand      `cmd:"" help:"Check a configuration file, or print the schema of one."`
	Routes  routesCommand      `cmd:"" help:"Say which target would serve a model."`
	Xray    xrayCommand        `cmd:"" help:"Say what a translation does to a body, member by member. Nothing is sent."`
	Models  modelsCommand      `cmd:"" help:"List the models of the routes and what is known of them, or make a file of another catalogue."`
	Demo    demoCommand        `cmd:"" help:"Fill an empty store with a made-up week: keys, requests, failures, costs. For looking at the console."`
	Version cli.VersionCommand `cmd:"" help:"Print the version, and the commit it was built from."`
}

func main() {
	os.Exit(cli.Main(program()))
}

func program() cli.Program {
	return cli.Program{
		Name:        "genway",
		Description: "A gateway for text and image generation: five JSON protocols and gRPC in, any upstream out.",
		Grammar:     &command{},
	}
}
