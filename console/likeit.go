package console

import (
	"cmp"
	"net/url"
	"regexp"
	"strings"

	adminv1 "github.com/genway/genway/gen/genway/admin/v1"
)

// plainName matches the names of models that need no escapes in a shell command or in source code. Callers and links choose
// these names, and operators run the snippets that they copy.
var plainName = regexp.MustCompile(`^[A-Za-z0-9@][A-Za-z0-9._:/@+-]{0,127}$`)

// snippetsLike returns requests of the protocol and the model of another, with a body of ours: as curl or grpcurl, and by the SDKs
// of its group. There are none for a model whose name is not plain.
func (c *call) snippetsLike(r *adminv1.LoggedRequest) []snippet {
	p, ok := playOf(playLike(r))
	if !ok || !plainName.MatchString(r.GetModel()) {
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
