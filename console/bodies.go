package console

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"time"
	"unicode/utf8"

	adminv1 "github.com/genway/genway/gen/genway/admin/v1"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

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
		v.Title = "The caller’s body, " + b.GetProtocol()
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
	if modelInPath(r.GetProtocol()) {
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
	for _, target := range []string{r.GetUpstream(), "protocol:" + r.GetUpstreamProtocol()} {
		x.Wrong = ""
		err := c.explain(&x, r.GetProtocol(), target)
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
	if _, err := c.admin.DeleteCaptures(c.ctx, &adminv1.DeleteCapturesRequest{Id: id}); err != nil {
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
