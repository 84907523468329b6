package console

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	adminv1 "github.com/genway/genway/gen/genway/admin/v1"
	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/parser"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/fieldmaskpb"
	"google.golang.org/protobuf/types/known/timestamppb"
)

type capturesPage struct {
	Rules []*adminv1.RunningCapture
	// Routes are the file's routes, which the form offers where the file can be written.
	Routes []fileRoute
	// Key is what the form begins with.
	Key      string
	Writable bool
	Done     string
	// Lines are what to write into the file where this page cannot.
	Lines string
}

// showCaptures lists the rules by which bodies are captured now.
func showCaptures(c *call) error { return c.showCaptures(&capturesPage{Key: c.r.FormValue("key")}) }

func (c *call) showCaptures(p *capturesPage) error {
	resp, err := c.admin.ListCaptureRules(c.ctx, &adminv1.ListCaptureRulesRequest{})
	if err != nil {
		return err
	}
	file, err := c.admin.GetConfiguration(c.ctx, &adminv1.GetConfigurationRequest{})
	if err != nil {
		return err
	}
	p.Rules, p.Writable, p.Routes = resp.GetRules(), file.GetWritable(), routesOf(file.GetYaml())
	c.show(http.StatusOK, "captures.html", "Captures", p)
	return nil
}

// beginCapture asks for the bodies of a key's requests, or of a route's.
func beginCapture(c *call) error {
	rule, err := c.captureRule()
	if err != nil {
		return err
	}
	key, route := strings.TrimSpace(c.r.PostFormValue("key")), c.r.PostFormValue("route")
	switch {
	case (key == "") == (route == ""):
		return &pageError{http.StatusBadRequest, "Choose either a key or a route."}
	case key != "":
		if err := c.captureKey(key, rule); err != nil {
			return err
		}
		return c.showCaptures(&capturesPage{Done: "Bodies of the key's requests are captured until " + rule.GetUntil().AsTime().Format("2006-01-02 15:04:05") + " UTC."})
	}
	lines, err := c.captureRoute(route, rule)
	if err != nil {
		return err
	}
	if lines != "" {
		return c.showCaptures(&capturesPage{Lines: lines})
	}
	return c.showCaptures(&capturesPage{Done: "The file was written: bodies of the route's requests are captured until " + rule.GetUntil().AsTime().Format("2006-01-02 15:04:05") + " UTC."})
}

// endCapture ends the rule of a key, or of a route.
func endCapture(c *call) error {
	key, route := c.r.PostFormValue("key"), c.r.PostFormValue("route")
	if key != "" {
		if err := c.captureKey(key, nil); err != nil {
			return err
		}
		return c.showCaptures(&capturesPage{Done: "Nothing more is captured by that key's rule. What was captured stays until its end."})
	}
	lines, err := c.captureRoute(route, nil)
	if err != nil {
		return err
	}
	if lines != "" {
		return &pageError{http.StatusConflict, "This page does not write the file: the server was started without --console-write. Remove the member capture of that route from the file."}
	}
	return c.showCaptures(&capturesPage{Done: "The file was written: nothing more is captured by that route's rule. What was captured stays until its end."})
}

// captureKey sets the rule of a key; nil is none.
func (c *call) captureKey(key string, rule *adminv1.CaptureRule) error {
	_, err := c.admin.UpdateKey(c.ctx, &adminv1.UpdateKeyRequest{Key: key, Settings: &adminv1.KeySettings{Capture: rule}, UpdateMask: &fieldmaskpb.FieldMask{Paths: []string{"capture"}}})
	return err
}

// captureRoute sets the rule of a route of the file; nil is none. Where the file cannot be written, it changes nothing
// and returns the line that the route needs.
func (c *call) captureRoute(number string, rule *adminv1.CaptureRule) (lines string, err error) {
	file, err := c.admin.GetConfiguration(c.ctx, &adminv1.GetConfigurationRequest{})
	if err != nil {
		return "", err
	}
	text, line, err := withCapture(file.GetYaml(), number, rule)
	if line != "" && !file.GetWritable() {
		return line, nil
	}
	if err != nil {
		return "", err
	}
	_, err = c.admin.WriteConfiguration(c.ctx, &adminv1.WriteConfigurationRequest{Yaml: text, FileHash: file.GetFileHash()})
	return "", err
}

// captureRule reads the form. What a rule may be is for the Admin service to say.
func (c *call) captureRule() (*adminv1.CaptureRule, error) {
	field := func(name string) string { return strings.TrimSpace(c.r.PostFormValue(name)) }
	rule := &adminv1.CaptureRule{Redact: words(field("redact"))}
	if text := field("share"); text != "" {
		percent, err := strconv.ParseFloat(text, 64)
		if err != nil || !(percent > 0 && percent <= 100) {
			return nil, &pageError{http.StatusBadRequest, fmt.Sprintf("share: %.40q is no part; write more than 0 and up to 100 per cent.", text)}
		}
		if percent < 100 {
			share := percent / 100
			rule.Share = &share
		}
	}
	if text := field("max_bytes"); text != "" {
		n, err := strconv.ParseInt(text, 10, 64)
		if err != nil {
			return nil, &pageError{http.StatusBadRequest, fmt.Sprintf("max_bytes: %.40q is no whole number.", text)}
		}
		rule.MaxBytes = n
	}
	lasts, err := time.ParseDuration(field("for"))
	if err != nil || lasts <= 0 {
		return nil, &pageError{http.StatusBadRequest, fmt.Sprintf("for: %.40q is no duration; write it as 15m or 2h.", field("for"))}
	}
	rule.Until = timestamppb.New(c.console.config.Clock().Add(lasts).Truncate(time.Second))
	return rule, nil
}

// bodyView is a captured body as a page shows it.
type bodyView struct {
	Title, Text string
	// Size is how large it was; Notes are why Text is not all of it.
	Size  int64
	Notes []string
	whole bool // and not redacted
	kind  adminv1.BodyKind
	data  []byte
	// cut says that data is only the beginning of the body, redacted that members of it are replaced.
	cut, redacted bool
}

type bodiesPage struct {
	ID, Key, SealedBy string
	Expires           time.Time
	Bodies            []bodyView
	XRay              *xrayPage
	// Same says that the X-ray's body is what the upstream was sent, Differs that it is not. NoXRay is
	// why there is none, and NoReplay why the request cannot be sent again.
	Same, Differs bool
	// Kept is how many bytes of a stream were kept that is explained in part; 0 for all.
	Kept                     int
	NoXRay, Replay, NoReplay string
}

// readsCaptures reports whether the session may read captured bodies. It decides what is shown; the
// Admin service decides what is done.
func (c *call) readsCaptures() bool { return c.session.GetSettings().GetReadCaptures() }

// bodies reads the captured bodies of a request. The audit has each reading.
func (c *call) bodies(id string) (*adminv1.GetCaptureResponse, []bodyView, error) {
	resp, err := c.admin.GetCapture(c.ctx, &adminv1.GetCaptureRequest{Id: id})
	if err != nil {
		return nil, nil, err
	}
	views := make([]bodyView, len(resp.GetBodies()))
	for i, b := range resp.GetBodies() {
		views[i] = viewOfBody(b)
	}
	return resp, views, nil
}

func viewOfBody(b *adminv1.CapturedBody) bodyView {
	v := bodyView{Size: b.GetSize(), whole: !b.GetCut() && !b.GetRedacted(), cut: b.GetCut(), redacted: b.GetRedacted(), kind: b.GetKind(), data: b.GetData(), Text: pretty(string(b.GetData()))}
	switch b.GetKind() {
	case adminv1.BodyKind_BODY_KIND_CALLER_REQUEST:
		v.Title = "The caller’s body, " + protocolName(b.Protocol)
	case adminv1.BodyKind_BODY_KIND_CONTRACT_REQUEST:
		v.Title = "The caller’s message"
	case adminv1.BodyKind_BODY_KIND_UPSTREAM_REQUEST:
		v.Title = fmt.Sprintf("Call %d: what %s was sent", b.GetCall(), b.GetUpstream())
	case adminv1.BodyKind_BODY_KIND_UPSTREAM_ANSWER:
		v.Title = fmt.Sprintf("Call %d: what %s answered", b.GetCall(), b.GetUpstream())
	case adminv1.BodyKind_BODY_KIND_CONTRACT_ANSWER:
		v.Title = "The contract’s answer"
	default:
		v.Title = "A body of a kind that this console does not know"
	}
	if b.GetRedacted() {
		v.Notes = append(v.Notes, "members are redacted")
	}
	if b.GetCut() {
		v.Notes = append(v.Notes, fmt.Sprintf("only the first %d bytes are kept", len(v.data)))
	}
	if !utf8.Valid(v.data) {
		v.Text = strings.ToValidUTF8(string(v.data), "\uFFFD")
		v.Notes = append(v.Notes, "it is no UTF-8")
	}
	return v
}

// ofKind returns the last body of a kind; false for none.
func ofKind(views []bodyView, kinds ...adminv1.BodyKind) (found bodyView, ok bool) {
	for _, v := range views {
		for _, kind := range kinds {
			if v.kind == kind {
				found, ok = v, true
			}
		}
	}
	return found, ok
}

// showBodies shows the captured bodies of a request, and what the translation did to them.
func showBodies(c *call) error {
	id := c.r.PathValue("id")
	found, err := c.admin.GetRequest(c.ctx, &adminv1.GetRequestRequest{Id: id})
	if err != nil {
		return err
	}
	captured, views, err := c.bodies(id)
	if err != nil {
		return err
	}
	r := found.GetRequest()
	p := bodiesPage{ID: id, Key: captured.GetKeyId(), SealedBy: captured.GetSealedBy(), Expires: captured.GetExpireTime().AsTime(), Bodies: views}
	if _, err := replayed(r, views); err != nil {
		p.NoReplay = err.Error()
	} else {
		p.Replay = "/playground?" + url.Values{"replay": {id}}.Encode()
	}
	if err := c.explainCaptured(&p, r); err != nil {
		return err
	}
	c.show(http.StatusOK, "bodies.html", "Bodies of request "+id, p)
	return nil
}

// explainCaptured has the translation of a captured request explained: by the configuration of today.
func (c *call) explainCaptured(p *bodiesPage, r *adminv1.LoggedRequest) error {
	body, ok := ofKind(p.Bodies, adminv1.BodyKind_BODY_KIND_CALLER_REQUEST)
	switch {
	case !ok:
		p.NoXRay = "A direct caller sends the contract’s message: there is no body to translate from."
	case !body.whole:
		p.NoXRay = "The caller’s body was not kept as a whole, so that its translation cannot be explained."
	case !strings.Contains(r.GetMethod(), "Generate"):
		p.NoXRay = "The X-ray is of requests that generate."
	}
	if p.NoXRay != "" {
		return nil
	}
	x := xrayPage{Body: string(body.data), Stream: strings.HasPrefix(r.GetMethod(), "Stream")}
	if modelInPath(protocolName(r.Protocol)) {
		x.Model = r.GetModel()
	}
	answer, answered := ofKind(p.Bodies, adminv1.BodyKind_BODY_KIND_UPSTREAM_ANSWER)
	if !answered { // of an upstream that takes the contract's messages
		answer, answered = ofKind(p.Bodies, adminv1.BodyKind_BODY_KIND_CONTRACT_ANSWER)
	}
	switch {
	case !answered:
	case x.Stream && !answer.redacted: // as far as it came, or was kept
		x.Answer = string(answer.data)
		if answer.cut {
			p.Kept = len(answer.data)
		}
	case !x.Stream && answer.whole && r.GetOutcome() == adminv1.Outcome_OUTCOME_OK:
		x.Answer = string(answer.data)
	}
	for _, target := range []string{r.GetUpstream(), "protocol:" + protocolName(r.UpstreamProtocol)} {
		x.Wrong = ""
		err := c.explain(&x, protocolName(r.Protocol), target)
		if code := status.Code(err); code == codes.PermissionDenied || code == codes.Unauthenticated || code == codes.Unavailable {
			return err
		}
		if err != nil {
			x.Wrong = status.Convert(err).Message()
		}
		if x.Explained != nil {
			break
		}
	}
	if x.Explained == nil {
		p.NoXRay = "The translation cannot be explained any more: " + x.Wrong
		return nil
	}
	p.XRay = &x
	if sent, ok := ofKind(p.Bodies, adminv1.BodyKind_BODY_KIND_UPSTREAM_REQUEST); ok && sent.whole {
		p.Same = sameJSON(sent.data, x.Explained.GetUpstreamBody())
		p.Differs = !p.Same
	}
	return nil
}

// sameJSON reports whether two texts are the same JSON, but for spaces.
func sameJSON(a, b []byte) bool {
	var one, other bytes.Buffer
	return json.Compact(&one, a) == nil && json.Compact(&other, b) == nil && bytes.Equal(one.Bytes(), other.Bytes())
}

// replayed returns the body of a request that can be sent again.
func replayed(r *adminv1.LoggedRequest, views []bodyView) (bodyView, error) {
	body, ok := ofKind(views, adminv1.BodyKind_BODY_KIND_CALLER_REQUEST, adminv1.BodyKind_BODY_KIND_CONTRACT_REQUEST)
	_, known := playOf(playLike(r))
	switch {
	case !ok:
		return body, &pageError{http.StatusNotFound, "The caller’s body was not captured."}
	case !body.whole:
		return body, &pageError{http.StatusConflict, "The caller’s body is not whole, or members of it are redacted: it cannot be sent again."}
	case !utf8.Valid(body.data):
		return body, &pageError{http.StatusConflict, "The caller’s body is no UTF-8: a form cannot send it again."}
	case !known || !strings.Contains(r.GetMethod(), "Generate"):
		return body, &pageError{http.StatusConflict, "The playground does not send requests of this kind."}
	}
	return body, nil
}

// deleteBodies deletes the captured bodies of a request.
func deleteBodies(c *call) error {
	id := c.r.PathValue("id")
	if _, err := c.admin.DeleteCaptures(c.ctx, &adminv1.DeleteCapturesRequest{Which: &adminv1.DeleteCapturesRequest_Id{Id: id}}); err != nil {
		return err
	}
	http.Redirect(c.w, c.r, "/requests/"+url.PathEscape(id), http.StatusSeeOther)
	return nil
}

// replay fills the playground with the body of a captured request, and with what was answered then.
func (c *call) replay(id string) (body string, r *adminv1.LoggedRequest, then []bodyView, err error) {
	found, err := c.admin.GetRequest(c.ctx, &adminv1.GetRequestRequest{Id: id})
	if err != nil {
		return "", nil, nil, err
	}
	_, views, err := c.bodies(id)
	if err != nil {
		return "", nil, nil, err
	}
	sent, err := replayed(found.GetRequest(), views)
	if err != nil {
		return "", nil, nil, err
	}
	for _, v := range views {
		if v.kind == adminv1.BodyKind_BODY_KIND_UPSTREAM_ANSWER || v.kind == adminv1.BodyKind_BODY_KIND_CONTRACT_ANSWER {
			then = append(then, v)
		}
	}
	return string(sent.data), found.GetRequest(), then, nil
}

// fileRoute is a route of the file, by its number.
type fileRoute struct {
	Number      int
	Name        string
	HasCaptures bool
}

// captureMember is the member of a route that has its rule.
const captureMember = "capture"

// routesOf lists the routes of a file; none of a text that cannot be read.
func routesOf(text string) (list []fileRoute) {
	_, routes := routesIn(text)
	for i, r := range routes {
		name, _ := member(r, "model").(string)
		if protocols, ok := member(r, "protocols").([]any); ok {
			name += " for " + strings.Trim(fmt.Sprint(protocols), "[]")
		}
		list = append(list, fileRoute{i, name, member(r, captureMember) != nil})
	}
	return list
}

// routesIn reads a file, and returns its routes.
func routesIn(text string) (body yaml.MapSlice, routes []yaml.MapSlice) {
	if err := yaml.UnmarshalWithOptions([]byte(text), &body, yaml.UseOrderedMap()); err != nil {
		return nil, nil
	}
	list, _ := member(body, "routes").([]any)
	for _, one := range list {
		route, _ := one.(yaml.MapSlice)
		routes = append(routes, route)
	}
	return body, routes
}

func member(of yaml.MapSlice, name string) any {
	for _, item := range of {
		if item.Key == name {
			return item.Value
		}
	}
	return nil
}

// withCapture returns a file in which a route, by its number, has a rule, or none. line is the member as it is to be
// written by hand.
func withCapture(text, number string, rule *adminv1.CaptureRule) (whole, line string, err error) {
	body, routes := routesIn(text)
	n, err := strconv.Atoi(number)
	if err != nil || n < 0 || n >= len(routes) {
		return "", "", &pageError{http.StatusBadRequest, "The file has no such route; it may have changed meanwhile."}
	}
	var route yaml.MapSlice
	for _, item := range routes[n] {
		if item.Key != captureMember {
			route = append(route, item)
		}
	}
	added := yaml.MapItem{Key: captureMember, Value: ruleMembers(rule)}
	if rule != nil {
		route = append(route, added)
	}
	member(body, "routes").([]any)[n] = route //nolint:forcetypeassert // routesIn has found a list
	line = captureMember
	if rule != nil {
		shown, err := yaml.MarshalWithOptions(yaml.MapSlice{added}, yaml.Flow(true))
		if err != nil {
			return "", "", err
		}
		line = strings.Trim(strings.TrimSpace(string(shown)), "{}") + "}"
	}
	whole, ok := withoutMember(text, n)
	if rule != nil && ok {
		whole, ok = withMember(whole, n, line)
	}
	if want, err := yaml.Marshal(body); err != nil || !ok || !sameYAML(whole, string(want)) {
		return "", line, &pageError{http.StatusConflict, "This page cannot change the route as it is written in the file. Change it by hand, or on the page Configuration: " + line}
	}
	return whole, line, nil
}

// sameYAML reports whether two texts say the same.
func sameYAML(a, b string) bool {
	var one, other any
	return yaml.Unmarshal([]byte(a), &one) == nil && yaml.Unmarshal([]byte(b), &other) == nil && reflect.DeepEqual(one, other)
}

// routeNode returns where a route is in a text; nil where it is no mapping of at least two members.
func routeNode(text string, number int) *ast.MappingNode {
	file, err := parser.ParseBytes([]byte(text), 0)
	if err != nil || len(file.Docs) != 1 {
		return nil
	}
	path, err := yaml.PathString("$.routes[" + strconv.Itoa(number) + "]")
	if err != nil {
		return nil
	}
	node, err := path.FilterNode(file.Docs[0].Body)
	if err != nil {
		return nil
	}
	route, ok := node.(*ast.MappingNode)
	if !ok || len(route.Values) < 2 {
		return nil
	}
	return route
}

// withMember returns a text in which a route has one member more, as a line of its own before its second member, or within the
// braces of a route that has them. false says that it is not known where.
func withMember(text string, number int, line string) (string, bool) {
	route := routeNode(text, number)
	if route == nil {
		return "", false
	}
	at, lines := route.Values[1].Key.GetToken().Position, strings.SplitAfter(text, "\n")
	if !route.IsFlowStyle {
		lines[at.Line-1] = strings.Repeat(" ", at.Column-1) + line + "\n" + lines[at.Line-1]
		return strings.Join(lines, ""), true
	}
	before, after, ok := cutAt(lines[at.Line-1], at.Column-1)
	lines[at.Line-1] = before + line + ", " + after
	return strings.Join(lines, ""), ok
}

// withoutMember returns a text in which a route has no rule. false says that it is not known where the rule ends.
func withoutMember(text string, number int) (string, bool) {
	route := routeNode(text, number)
	if route == nil {
		return "", false
	}
	i := slices.IndexFunc(route.Values, func(v *ast.MappingValueNode) bool { return v.Key.GetToken().Value == captureMember })
	if i < 0 {
		return text, true
	}
	rule, ok := route.Values[i].Value.(*ast.MappingNode)
	if !ok {
		return "", false
	}
	at, lines := route.Values[i].Key.GetToken().Position, strings.SplitAfter(text, "\n")
	if route.IsFlowStyle {
		before, rest, ok := cutAt(lines[at.Line-1], at.Column-1)
		if !ok || !rule.IsFlowStyle || rule.End.Position.Line != at.Line {
			return "", false
		}
		_, after, ok := cutAt(rest, rule.End.Position.Column-at.Column+1)
		if trimmed, more := strings.CutPrefix(strings.TrimLeft(after, " "), ","); more {
			after = strings.TrimLeft(trimmed, " ")
		} else {
			before = strings.TrimRight(strings.TrimRight(before, " "), ",")
		}
		lines[at.Line-1] = before + after
		return strings.Join(lines, ""), ok
	}
	end := at.Line // the lines of the rule are those that are further in
	if rule.IsFlowStyle {
		end = rule.End.Position.Line
	}
	for !rule.IsFlowStyle && end < len(lines) && strings.TrimSpace(lines[end]) != "" && len(lines[end])-len(strings.TrimLeft(lines[end], " ")) >= at.Column {
		end++
	}
	if strings.TrimSpace(lines[at.Line-1][:min(at.Column-1, len(lines[at.Line-1]))]) != "" { // after the dash of the route
		return "", false
	}
	return strings.Join(slices.Delete(lines, at.Line-1, end), ""), true
}

// cutAt cuts a line before its character of a number.
func cutAt(line string, at int) (before, after string, ok bool) {
	characters := []rune(line)
	if at < 0 || at > len(characters) {
		return "", "", false
	}
	return string(characters[:at]), string(characters[at:]), true
}

// ruleMembers is a rule as the file has it.
func ruleMembers(rule *adminv1.CaptureRule) yaml.MapSlice {
	if rule == nil {
		return nil
	}
	m := yaml.MapSlice{}
	if rule.Share != nil {
		m = append(m, yaml.MapItem{Key: "share", Value: rule.GetShare()})
	}
	if rule.GetMaxBytes() != 0 {
		m = append(m, yaml.MapItem{Key: "max_bytes", Value: rule.GetMaxBytes()})
	}
	if len(rule.GetRedact()) > 0 {
		m = append(m, yaml.MapItem{Key: "redact", Value: rule.GetRedact()})
	}
	return append(m, yaml.MapItem{Key: "until", Value: rule.GetUntil().AsTime().Format(time.RFC3339)})
}
