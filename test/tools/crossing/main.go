package main

import (
	"flag"
	"fmt"
	"os"
)

func main() {
	path := flag.String("corpus", "", "the exchanges, gzipped JSON lines")
	id := flag.String("id", "", "only this exchange, with the bodies")
	from := flag.String("from", "", "only from this protocol")
	to := flag.String("to", "", "only to this protocol")
	flag.Parse()

	corpus, err := load(*path)
	if err != nil {
		fmt.Fprintln(os.Stderr, "crossing:", err)
		os.Exit(1)
	}
	r := newReport()
	if *id != "" {
		r.show = os.Stdout
	}
	for _, x := range corpus {
		if *id != "" && x.ID != *id || *from != "" && x.Protocol != *from {
			continue
		}
		for _, name := range names {
			if name != x.Protocol && (*to == "" || name == *to) {
				cross(r, x, name)
			}
		}
	}
	r.print(os.Stdout)
	if r.failed() {
		os.Exit(1)
	}
}
