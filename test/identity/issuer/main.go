// Command issuer runs an identity provider for tests of another module. Its argument is JSON: what
// is known of its client, and the claims of who signs in. Once it runs it says ok. It answers each
// line of its input with one line, and ends at the end of its input:
//
//	url      the issuer's URL, on localhost
//	refused  the requests that it has refused, as JSON
package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/genway/genway/test/identity"
)

func main() {
	if err := run(os.Args[1:], os.Stdin, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(args []string, in io.Reader, out io.Writer) error {
	if len(args) != 1 {
		return fmt.Errorf("expected one argument, got %d", len(args))
	}
	var client struct {
		ID, Secret, RedirectURL string
		Claims                  map[string]any
	}
	if err := json.Unmarshal([]byte(args[0]), &client); err != nil {
		return err
	}
	p := identity.Start(client.ID, client.Secret)
	defer p.Close()
	p.Set(func(p *identity.Provider) {
		p.URL = strings.Replace(p.URL, "127.0.0.1", "localhost", 1)
		p.RedirectURL, p.Claims = client.RedirectURL, client.Claims
	})
	fmt.Fprintln(out, "ok")
	lines := bufio.NewScanner(in)
	for lines.Scan() {
		answer := "error: no such question"
		switch lines.Text() {
		case "url":
			answer = p.URL
		case "refused":
			list, err := json.Marshal(p.Refused())
			if err != nil {
				return err
			}
			answer = string(list)
		}
		fmt.Fprintln(out, answer)
	}
	return lines.Err()
}
