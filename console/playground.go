package console

import (
	"cmp"
	"context"
	"crypto/sha256"
	_ "embed" // the protocols
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	adminv1 "github.com/genway/genway/gen/genway/admin/v1"
	"google.golang.org/protobuf/types/known/timestamppb"
)

// playgroundText is what the playground can send: a section for each protocol, with lines
// NAME: VALUE, an example of a body after an empty line, and others after -- NAME --.
//
//go:embed playground.txt
var playgroundText string

// play is one thing that the playground can send.
type play struct {
	Protocol, Title, Group string
	// Path is the path of the JSON side, Stream the path of a stream if it differs. {MODEL} is
	// replaced in both.
	Path, Stream string
	// Method is the contract's method, in place of a path, with Stream for a stream.
	Method string
	// Headers are lines NAME: VALUE; {KEY} is replaced.
	Headers []string
	// Draws is the model of its examples, of one that asks for images: these have a prompt in place of a conversation.
	Draws string
	// Like is the protocol whose models it takes, if that is another one.
	Like string
	// Examples are bodies to begin with; the first has no name.
	Examples []playExample
}

// sandboxText is the model of the examples of texts.
const sandboxText = "sandbox-text"

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
			*map[string]*string{"title": &p.Title, "group": &p.Group, "path": &p.Path, "stream": &p.Stream, "method": &p.Method, "draws": &p.Draws, "like": &p.Like}[name] = value
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
	// API is where it is sent, if that is not this process.
	API string
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
		if modelInPath(protocolName(r.Protocol)) {
			form.Set("model", r.GetModel())
		}
	}
	chosen, ok := playOf(form.Get("protocol"))
	if !ok {
		chosen = plays[0]
	}
	config := &c.console.config
	if !ok && !c.reaches(chosen) {
		chosen, _ = playOf(contract)
	}
	p := playgroundPage{play: chosen, Model: form.Get("model"), Streams: true, Most: maxRuns, Base: cmp.Or(config.Base, "https://genway.example"), Reached: c.reaches(chosen)}
	if config.Gateway == nil && chosen.Method == "" {
		p.API = config.Edge
	}
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
	switch model := c.console.modelOf(chosen); {
	case again != "":
		p.Body, p.Then, p.Unary = again, then, unary
	case modelInPath(chosen.Protocol):
		p.Model = cmp.Or(p.Model, model)
	default:
		p.Body = strings.ReplaceAll(p.Body, cmp.Or(chosen.Draws, sandboxText), model)
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

// reaches reports whether the console has a way for what is to be sent.
func (c *call) reaches(p play) bool {
	if p.Method != "" {
		return c.console.config.Generation != nil
	}
	return c.console.config.Gateway != nil || c.console.config.Edge != ""
}

// playLike names what in the playground is like a request.
func playLike(r *adminv1.LoggedRequest) string {
	for _, p := range plays {
		if p.Method != "" && protocolName(r.Protocol) == contract && (p.Method == r.GetMethod() || p.Stream == r.GetMethod()) {
			return p.Protocol
		}
	}
	return protocolName(r.Protocol)
}

const (
	// runKeyGood is how long a key is good that was made for the playground, runKeyLeft what it
	// must have left to be used once more.
	runKeyGood = time.Hour
	runKeyLeft = 2 * runWithin
	// playgroundLabel marks these keys.
	playgroundLabel = "playground"
	// maxKey bounds a key that is pasted, in bytes.
	maxKey = 256
)

// runKey is a key that was made for a session's runs.
type runKey struct {
	raw, id string
	// session is the id of the session, shown the hash of its key.
	session string
	shown   [sha256.Size]byte
	end     time.Time
}

// keyFor returns the key to send a request with: the one that was pasted, which is kept nowhere, or
// for an admin one of the group that ends within the hour.
func (c *call) keyFor(pasted, group string) (string, error) {
	switch {
	case len(pasted) > maxKey || strings.ContainsFunc(pasted, func(r rune) bool { return r <= ' ' || r > '~' }):
		return "", &pageError{http.StatusBadRequest, "What was pasted is no key."}
	case pasted != "":
		return pasted, nil
	case !c.writes():
		return "", &pageError{http.StatusForbidden, "Paste a key of the group " + group + ": a viewer has none made."}
	}
	r := c.console.runs
	now := c.console.config.Clock()
	at := sha256.Sum256([]byte(c.raw + " " + group))
	r.mu.Lock()
	known := r.keys[at]
	for k, key := range r.keys {
		if key.end.Before(now) {
			delete(r.keys, k)
		}
	}
	r.mu.Unlock()
	if known.end.Sub(now) > runKeyLeft {
		return known.raw, nil
	}
	end := now.Add(runKeyGood)
	made, err := c.admin.CreateKey(c.ctx, &adminv1.CreateKeyRequest{Groups: groupsOf([]string{group}), Settings: &adminv1.KeySettings{
		Owner: c.session.GetSettings().GetOwner(), Labels: map[string]string{playgroundLabel: c.session.GetId()}, ExpireTime: timestamppb.New(end),
	}})
	if err != nil {
		if message, ok := wrongInput(err); ok {
			return "", &pageError{http.StatusBadRequest, message}
		}
		return "", err
	}
	r.mu.Lock()
	r.keys[at] = runKey{made.GetRawKey(), made.GetKey().GetId(), c.session.GetId(), sha256.Sum256([]byte(c.raw)), end}
	r.mu.Unlock()
	return made.GetRawKey(), nil
}

// revoke revokes the keys that were made for the runs of a session, which is about to end. One that cannot be revoked ends within
// the hour.
func (r *runs) revoke(ctx context.Context, admin adminv1.AdminClient, of func(key runKey) bool) {
	var ids []string
	r.mu.Lock()
	for at, key := range r.keys {
		if of(key) {
			ids = append(ids, key.id)
			delete(r.keys, at)
		}
	}
	r.mu.Unlock()
	for _, id := range ids {
		_, _ = admin.RevokeKey(ctx, &adminv1.RevokeKeyRequest{Key: id}) // it ends all the same
	}
}

// shownBy tells the keys of the session whose key is raw.
func shownBy(raw string) func(runKey) bool {
	shown := sha256.Sum256([]byte(raw))
	return func(key runKey) bool { return key.shown == shown }
}
