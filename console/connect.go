package console

import (
	"cmp"
	_ "embed" // the clients
	"net/http"
	"strings"

	adminv1 "github.com/genway/genway/gen/genway/admin/v1"
)

// snippet is how one client is set up.
type snippet struct{ Title, Text string }

// clientsText is the SDKs and agents: a line "## GROUP: TITLE" by the group of the key that they
// need, and how each is set up. {BASE}, {GRPC}, {KEY} and {MODEL} are replaced.
//
//go:embed clients.txt
var clientsText string

// client is one of them.
type client struct{ group, title, text string }

var clients = parseClients(clientsText)

func parseClients(text string) []client {
	var list []client
	for _, part := range strings.Split("\n"+text, "\n## ")[1:] {
		head, body, _ := strings.Cut(part, "\n")
		group, title, _ := strings.Cut(head, ": ")
		list = append(list, client{group, title, strings.TrimSpace(body)})
	}
	return list
}

type connectPage struct {
	Group    string
	Groups   []choice
	Model    string
	Raw      string // shown this once
	Base     string
	Snippets []snippet
}

// errNotPlain is a model whose name could be more than a name in a snippet.
var errNotPlain = &pageError{http.StatusBadRequest, "The snippets are made for names of models of up to 128 letters, digits and . _ : / @ + - that begin with a letter, a digit or @. Write another name into the snippet by hand."}

func showConnect(c *call) error { return c.showConnect("") }

// showConnect shows the snippets of a group, with a key that was made on the spot if there is one.
func (c *call) showConnect(raw string) error {
	p := connectPage{Group: groups[0].Value, Model: c.connectTo(), Raw: raw, Base: c.console.config.Base}
	if !plainName.MatchString(p.Model) {
		return errNotPlain
	}
	for _, g := range groups {
		if g.Group == adminv1.Group_GROUP_ADMIN {
			continue
		}
		if g.Value == c.r.FormValue("group") {
			p.Group = g.Value
		}
	}
	for _, g := range groups {
		if g.Group != adminv1.Group_GROUP_ADMIN {
			p.Groups = append(p.Groups, choice{Value: g.Value, Title: g.Value, Current: g.Value == p.Group})
		}
	}
	with := c.replacer(cmp.Or(raw, "$KEY"), p.Model)
	for _, client := range clients {
		if client.group == p.Group {
			p.Snippets = append(p.Snippets, snippet{with.Replace(client.title), with.Replace(client.text)})
		}
	}
	c.show(http.StatusOK, "connect.html", "Connect", p)
	return nil
}

// connectTo is the model of the snippets.
func (c *call) connectTo() string {
	return cmp.Or(strings.TrimSpace(c.r.FormValue("model")), "sandbox-text")
}

// connectWithKey makes a key and shows the snippets with it.
func connectWithKey(c *call) error {
	if !plainName.MatchString(c.connectTo()) {
		return errNotPlain
	}
	made, err := c.admin.CreateKey(c.ctx, &adminv1.CreateKeyRequest{
		Group: groupOf(c.r.PostFormValue("group")), Settings: &adminv1.KeySettings{Name: strings.TrimSpace(c.r.PostFormValue("name"))},
	})
	if err != nil {
		return err
	}
	return c.showConnect(made.GetRawKey())
}
