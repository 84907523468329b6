package main

import (
	"flag"
	"fmt"
	"os"
	"slices"

	"github.com/genway/genway/test/recorded"
)

func main() {
	path := flag.String("corpus", "", "the exchanges, gzipped JSON lines")
	captures := flag.String("captures", "", "a folder of requests of clients, one a file; none by default")
	id := flag.String("id", "", "only this exchange, with the bodies")
	from := flag.String("from", "", "only from this protocol")
	to := flag.String("to", "", "only to this protocol")
	flag.Parse()

	r, corpus, captured, err := begin(*path, *captures)
	if err != nil {
		fmt.Fprintln(os.Stderr, "crossing:", err)
		os.Exit(1)
	}
	if *id != "" {
		r.show = os.Stdout
	}
	each(slices.Concat(corpus, captured), func(x exchange, other string) {
		switch {
		case *id != "" && x.ID != *id || *from != "" && x.Protocol != *from || *to != "" && other != *to:
		case other == x.Protocol:
			r.accepted(x)
		default:
			cross(r, x, other)
		}
	})
	r.print(os.Stdout)
	if r.failed() {
		os.Exit(1)
	}
}

// begin reads what is crossed.
func begin(path, captures string) (r *report, corpus, captured []exchange, err error) {
	if r, err = newReport(); err == nil {
		corpus, err = load(path)
	}
	if err == nil && captures != "" {
		captured, err = recorded.LoadCaptures(captures)
	}
	return r, corpus, captured, err
}

// each calls do with each exchange and each protocol.
func each(all []exchange, do func(x exchange, other string)) {
	for _, x := range all {
		for _, name := range names {
			do(x, name)
		}
	}
}

// sourceOf returns what a captured request is called in the report.
func sourceOf(x exchange) string {
	if agents.MatchString(x.ID) {
		return "agent"
	}
	return "sdk"
}
