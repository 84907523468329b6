// Command bench measures what a gateway costs, side by side with nginx, Go's reverse
// proxy and nothing at all. Run without a command it measures and prints the tables;
// README.md says what they mean.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"

	"github.com/genway/genway/test/bench/bare"
	"github.com/genway/genway/test/bench/target"
	"github.com/genway/genway/test/bench/upstream"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, os.Args[1:], os.Stdout, os.Stderr); err != nil {
		if errors.Is(err, flag.ErrHelp) {
			return
		}
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1) //nolint:gocritic // Nothing is left to be undone: run has returned.
	}
}

// commands are what the first argument may be.
var commands = map[string]func(ctx context.Context, args []string, stdout, stderr io.Writer) error{
	"run":                  runAll,
	"soak":                 runSoak,
	"growth":               runGrowth,
	"scale":                runScale,
	"pages":                runPages,
	"report":               runReport,
	"allocs":               runAllocs,
	"profile":              runProfile,
	"load":                 runLoad,
	"overload":             runOverload,
	"features":             runFeatures,
	"viewer":               runViewer,
	target.UpstreamCommand: runUpstream,
	target.ProxyCommand:    runProxy,
	target.BareCommand:     runBare,
}

const usage = `bench measures what a gateway costs.

  bench run        start all targets in turn, measure them, print the tables
  bench overload   offer several times the capacity
  bench features   measure what each feature costs
  bench soak       hold many streams open on Genway for minutes
  bench profile    say where Genway's time goes
  bench allocs     compare what Genway's stages allocate with the baseline
  bench growth     measure what grows with keys, routes, rows and limits
  bench scale      measure what one PostgreSQL and one Redis, which all cores share, can do
  bench pages      measure the console's pages on a ledger of ten million rows
  bench viewer     measure what a viewer of the console's live tail costs
  bench report     print the tables of results written earlier, or write them into a document
  bench load       send load to an address
  bench upstream   be the upstream
  bench proxy      be Go's reverse proxy
  bench bare       be Genway's shape without its features

bench COMMAND -h lists a command's flags.
`

func run(ctx context.Context, args []string, stdout, stderr io.Writer) error {
	name := ""
	if len(args) > 0 {
		name = args[0]
	}
	command, ok := commands[name]
	if !ok {
		fmt.Fprint(stderr, usage)
		return fmt.Errorf("no such command: %q", name)
	}
	return command(ctx, args[1:], stdout, stderr)
}

func runUpstream(ctx context.Context, args []string, _, stderr io.Writer) error {
	flags := newFlags("upstream", stderr)
	listen := flags.String("listen", "127.0.0.1:9100", "HOST:PORT to answer at")
	settings := upstream.Defaults()
	flags.DurationVar(&settings.Latency, "latency", settings.Latency, "wait before an answer")
	flags.DurationVar(&settings.Gap, "gap", settings.Gap, "time between events")
	flags.IntVar(&settings.Pieces, "pieces", settings.Pieces, "pieces of text in a stream")
	flags.IntVar(&settings.Text, "text", settings.Text, "bytes of text in a whole answer")
	flags.IntVar(&settings.Slots, "slots", settings.Slots, "requests that are worked on at once; 0 is no bound")
	flags.IntVar(&settings.Waiting, "waiting", settings.Waiting, "requests that may wait for that, before others are refused; 0 is no bound")
	flags.IntVar(&settings.Image, "image", settings.Image, "characters of base64 in an image")
	if err := flags.Parse(args); err != nil {
		return err
	}
	return upstream.New(settings).Listen(ctx, *listen)
}

func runProxy(ctx context.Context, args []string, _, stderr io.Writer) error {
	flags := newFlags("proxy", stderr)
	listen := flags.String("listen", "127.0.0.1:9200", "HOST:PORT to answer at")
	to := flags.String("upstream", "127.0.0.1:9100", "HOST:PORT of the upstream")
	if err := flags.Parse(args); err != nil {
		return err
	}
	return target.ServeProxy(ctx, *listen, *to)
}

func runBare(ctx context.Context, args []string, _, stderr io.Writer) error {
	flags := newFlags("bare", stderr)
	listen := flags.String("listen", "127.0.0.1:9200", "HOST:PORT to answer at")
	to := flags.String("upstream", "127.0.0.1:9100", "HOST:PORT of the upstream")
	core := flags.String("core", "", "unix socket to serve the contract at, as the core of two processes")
	edge := flags.String("edge", "", "unix socket of the core, as the edge of two processes")
	if err := flags.Parse(args); err != nil {
		return err
	}
	switch {
	case *core != "":
		return bare.ServeCore(ctx, *core, *to)
	case *edge != "":
		return bare.ServeEdge(ctx, *listen, *edge)
	}
	return bare.Serve(ctx, *listen, *to)
}

func newFlags(command string, stderr io.Writer) *flag.FlagSet {
	flags := flag.NewFlagSet("bench "+command, flag.ContinueOnError)
	flags.SetOutput(stderr)
	return flags
}
