package console

import (
	"cmp"
	_ "embed" // the protocols
	"net/http"
	"net/url"
	"slices"
	"strings"

	adminv1 "github.com/genway/genway/gen/genway/admin/v1"
)

// playgroundText is what the playground can send: a section for each protocol, with lines
// NAME: VALUE, an example of a body behind an empty line, and others behind -- NAME --.
//
//go:embed playground.txt
var playgroundText string

// play is one thing that the playground can send.
type play struct {
	Protocol, Title, Group string
	// Path is that of the JSON side, Stream that of a stream where it is another. {MODEL} is
	// replaced in both.
	Path, Stream string
	// Method is that of the contract, in place of a path, with Stream for a stream.
	Method string
	// Headers are lines NAME: VALUE; {KEY} is replaced.
	Headers []string
	// Examples are bodies to begin with; the first has no name.
	Examples []playExample
}

type playExample struct{ Name, Body string }

var plays = parsePlays(playgroundText)

func parsePlays(text string) []play {
	var list []play
	for _, section := range strings.Split("\n"+text, "\n## ")[1:] {
		head, bodies, _ := strings.Cut(section, "\n\n")
		lines := strings.Split(head, "\n")
		p := play{Protocol: lines[0]}
		for _, line := range lines[1:] {
			name, value, _ := strings.Cut(line, ": ")
			if name == "header" {
				p.Headers = append(p.Headers, value)
				continue
			}
			*map[string]*string{"title": &p.Title, "group": &p.Group, "path": &p.Path, "stream": &p.Stream, "method": &p.Method}[name] = value
		}
		for i, body := range strings.Split(bodies, "\n-- ") {
			name := ""
			if i > 0 {
				name, body, _ = strings.Cut(body, " --\n")
			}
			p.Examples = append(p.Examples, playExample{name, strings.TrimSpace(body)})
		}
		list = append(list, p)
	}
	return list
}

// playOf returns what a form asks for.
func playOf(protocol string) (play, bool) {
	i := slices.IndexFunc(plays, func(p play) bool { return p.Protocol == protocol })
	if i < 0 {
		return play{}, false
	}
	return plays[i], true
}

// modelInPath reports whether requests of a protocol name the model in the path, not in the body.
func modelInPath(protocol string) bool {
	p, ok := playOf(protocol)
	return ok && strings.Contains(p.Path, "{MODEL}")
}

type playgroundPage struct {
	play
	Protocols, Bodies []choice
	Body, Model, Base string
	Streams           bool
	Known             []string // models that routes name
	Most              int
	// Then are what was answered to the captured request that is sent again.
	Then []bodyView
	// Unary says that it asked for no stream.
	Unary bool
	// Reached says that what is chosen can be sent from here.
	Reached bool
}

// showPlayground shows the form. Scripts send it, and show what comes.
func showPlayground(c *call) error {
	form := c.r.URL.Query()
	again, then, unary := "", []bodyView(nil), false
	if id := form.Get("replay"); id != "" {
		body, r, answered, err := c.replay(id)
		if err != nil {
			return err
		}
		again, then, unary = body, answered, !strings.HasPrefix(r.GetMethod(), "Stream")
		form.Set("protocol", playLike(r))
		if modelInPath(r.GetProtocol()) {
			form.Set("model", r.GetModel())
		}
	}
	chosen, ok := playOf(form.Get("protocol"))
	if !ok {
		chosen = plays[0]
	}
	config := &c.console.config
	if !ok && config.Gateway == nil {
		chosen, _ = playOf(contract)
	}
	p := playgroundPage{play: chosen, Model: form.Get("model"), Streams: true, Most: maxRuns, Base: cmp.Or(config.Base, "https://genway.example"), Reached: c.reaches(chosen)}
	if chosen.Method != "" {
		p.Base = cmp.Or(config.GRPC, "127.0.0.1:9090")
	}
	for _, q := range plays {
		p.Protocols = append(p.Protocols, choice{Link: "?" + url.Values{"protocol": {q.Protocol}}.Encode(), Title: q.Title, Current: q.Protocol == chosen.Protocol})
	}
	for i, e := range chosen.Examples {
		current := e.Name == form.Get("example") || i == 0
		if current {
			p.Body = e.Body
		}
		p.Bodies = append(p.Bodies, choice{Link: "?" + url.Values{"protocol": {chosen.Protocol}, "example": {e.Name}}.Encode(), Title: cmp.Or(e.Name, "plain"), Current: e.Name == form.Get("example")})
	}
	if again != "" {
		p.Body, p.Then, p.Unary = again, then, unary
	}
	if p.Model == "" && strings.Contains(chosen.Path, "{MODEL}") {
		p.Model = "sandbox-text"
	}
	routes, err := c.admin.ListRoutes(c.ctx, &adminv1.ListRoutesRequest{})
	if err != nil {
		return err
	}
	for _, r := range routes.GetRoutes() {
		if !strings.Contains(r.GetModel(), "*") && !slices.Contains(p.Known, r.GetModel()) {
			p.Known = append(p.Known, r.GetModel())
		}
	}
	c.show(http.StatusOK, "playground.html", "Playground", p)
	return nil
}

// contract is the name of the contract's text in the list.
const contract = "grpc"

// reaches reports whether the console has a way for what is to be sent.
func (c *call) reaches(p play) bool {
	if p.Method != "" {
		return c.console.config.Generation != nil
	}
	return c.console.config.Gateway != nil
}

// playLike names what in the playground is like a request.
func playLike(r *adminv1.LoggedRequest) string {
	for _, p := range plays {
		if p.Method != "" && r.GetProtocol() == contract && (p.Method == r.GetMethod() || p.Stream == r.GetMethod()) {
			return p.Protocol
		}
	}
	return r.GetProtocol()
}
