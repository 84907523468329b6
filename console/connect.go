package console

import (
	"cmp"
	_ "embed" // the clients
	"net/http"
	"net/url"
	"regexp"
	"slices"
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
	p := connectPage{Group: groups()[0].Value, Model: c.connectTo(), Raw: raw, Base: c.console.config.Base}
	if !plainName(p.Model) {
		return errNotPlain
	}
	for _, g := range groups() {
		if g.Group == adminv1.Group_GROUP_ADMIN {
			continue
		}
		if g.Value == c.r.FormValue("group") {
			p.Group = g.Value
		}
	}
	for _, g := range groups() {
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
	of := max(0, slices.IndexFunc(plays, func(p play) bool { return p.Group == c.r.FormValue("group") }))
	return cmp.Or(strings.TrimSpace(c.r.FormValue("model")), c.console.modelOf(plays[of]))
}

// connectWithKey makes a key and shows the snippets with it.
func connectWithKey(c *call) error {
	if !plainName(c.connectTo()) {
		return errNotPlain
	}
	made, err := c.admin.CreateKey(c.ctx, &adminv1.CreateKeyRequest{
		Groups: groupsOf([]string{c.r.PostFormValue("group")}), Settings: &adminv1.KeySettings{Name: strings.TrimSpace(c.r.PostFormValue("name"))},
	})
	if err != nil {
		return err
	}
	return c.showConnect(made.GetRawKey())
}

// plainName reports whether the name of a model needs no escapes in a shell command or in source code. Callers and links
// choose these names, and operators run the snippets that they copy.
func plainName(model string) bool { return len(model) <= 128 && plain.MatchString(model) }

var plain = regexp.MustCompile(`^[A-Za-z0-9@][A-Za-z0-9._:/@+-]*$`)

// snippetsLike returns requests of the protocol and the model of another, with a body of ours: as curl or grpcurl, and by the SDKs
// of its group. There are none for a model whose name is not plain.
func (c *call) snippetsLike(r *adminv1.LoggedRequest) []snippet {
	p, ok := playOf(playLike(r))
	if !ok || !plainName(r.GetModel()) {
		return nil
	}
	list := []snippet{c.commandLike(p, r)}
	with := c.replacer("$KEY", r.GetModel())
	for _, client := range clients {
		if client.group == p.Group && strings.Contains(client.title, "SDK") {
			list = append(list, snippet{with.Replace(client.title), with.Replace(client.text)})
		}
	}
	return list
}

// commandLike is such a request for a shell, which has the key in a variable.
func (c *call) commandLike(p play, r *adminv1.LoggedRequest) snippet {
	streamed := strings.HasPrefix(r.GetMethod(), "Stream")
	body := []byte(p.Examples[0].Body)
	if patched, ok := withModel(body, r.GetModel()); ok && !strings.Contains(p.Path, "{MODEL}") {
		body = patched
	}
	var headers strings.Builder
	for _, h := range p.Headers {
		headers.WriteString(` -H "` + strings.ReplaceAll(h, "{KEY}", "$KEY") + `"`)
	}
	data := " -d '" + strings.ReplaceAll(string(body), "'", `'\''`) + "'"
	if p.Method != "" {
		method := p.Method
		if streamed && p.Stream != "" {
			method = p.Stream
		}
		return snippet{"grpcurl", "grpcurl -plaintext" + strings.ReplaceAll(headers.String(), "Authorization", "authorization") + data + " \\\n  " + cmp.Or(c.console.config.GRPC, "127.0.0.1:9090") + " genway.v1.Generation/" + method}
	}
	path := p.Path
	if streamed && p.Stream != "" {
		path = p.Stream
	}
	path = strings.ReplaceAll(path, "{MODEL}", url.PathEscape(r.GetModel()))
	return snippet{"curl", "curl '" + cmp.Or(c.console.config.Base, "https://genway.example") + path + "'" + headers.String() + " -H 'Content-Type: application/json' \\\n " + data}
}

// replacer fills what the text of a client leaves open.
func (c *call) replacer(key, model string) *strings.Replacer {
	return strings.NewReplacer("{BASE}", cmp.Or(c.console.config.Base, "https://genway.example"), "{GRPC}", cmp.Or(c.console.config.GRPC, "127.0.0.1:9090"), "{KEY}", key, "{MODEL}", model)
}
