package console

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"html/template"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/genway/genway/console/chart"
	adminv1 "github.com/genway/genway/gen/genway/admin/v1"
	genwayv1 "github.com/genway/genway/gen/genway/v1"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/durationpb"
	"google.golang.org/protobuf/types/known/timestamppb"
)

// column is a column of a list of requests. Class styles its cells: n is of figures, wide is left out where there is little room,
// and more on narrow screens alone.
type column struct{ Title, Class string }

// requestColumns are the columns of a list of requests.
var requestColumns = []column{
	{"Time", ""}, {"Outcome", ""}, {"Protocol", "more"}, {"Model", ""}, {"Upstream", "more"}, {"Owner", ""}, {"Tries", "n wide"}, {"First event", "n more"}, {"Took", "n"},
	{"In", "n more"}, {"Cached", "n wide"}, {"Out", "n more"}, {"Thinking", "n wide"}, {"Cost", "n"}, {"Lost", "more"}, {"Key", "more"},
}

// Cell returns what a row has in the column of that title.
func (row requestRow) Cell(title string) string {
	return row.Cells[slices.IndexFunc(requestColumns, func(c column) bool { return c.Title == title })]
}

// requestRow is a request as lists show it, live ones too.
type requestRow struct { //nolint:recvcheck // templates call Cell of a copy, fill sets the fields
	ID      string   `json:"id"`
	Outcome string   `json:"outcome"`
	Cells   []string `json:"cells"` // of requestColumns
}

// rowOf returns a request's row.
func rowOf(r *adminv1.LoggedRequest, names map[string]string) (row requestRow) {
	row.fill(r, names)
	return row
}

// fill makes it a request's row, in the memory that the row has. The last cell is the name of its key or,
// without one, the key's id.
func (row *requestRow) fill(r *adminv1.LoggedRequest, names map[string]string) {
	outcome := outcomeName(r.GetOutcome())
	shown := outcome
	if kind := kindName(r.GetKind()); kind != "" && kind != outcome {
		shown += ": " + kind
	}
	u := r.GetUsage()
	row.ID, row.Outcome, row.Cells = r.GetId(), outcome, append(row.Cells[:0],
		r.GetStartTime().AsTime().UTC().Format("2006-01-02 15:04:05.000"), shown,
		arrow(protocolName(r.Protocol), protocolName(r.UpstreamProtocol)), arrow(r.GetModel(), r.GetServedModel()),
		r.GetUpstream(), r.GetOwner(), count(r.GetAttempts()), took(r.GetFirstEvent().AsDuration()), took(r.GetDuration().AsDuration()),
		count(u.GetInputTokens()), count(u.GetCacheReadTokens()), count(u.GetOutputTokens()), count(u.GetThinkingTokens()),
		money(r.GetCostNanoDollars()), strings.Join(r.GetLosses(), ", "), cmp.Or(names[r.GetKeyId()], r.GetKeyId()),
	)
}

// arrow shows what became of a thing on its way, if it is another.
func arrow(from, to string) string {
	if to == "" || to == from {
		return from
	}
	return from + " → " + to
}

type requestsPage struct {
	Columns                       []column
	Rows                          []requestRow
	Fields                        []formField
	Chips                         []choice // what is searched for, each with the search without it
	Outcomes, Periods             []choice
	Lost, Retried, WithoutKind    bool
	Next, First, CSV, Live, Until string
	Filtered                      bool
}

// formField is a text of a form, with what may be typed, if it is known.
type formField struct {
	Name, Title, Value string
	Known              []choice
}

// requestRows is how many requests a page has, and csvRows how many a CSV.
const (
	requestRows = 100
	csvRows     = 1000
)

func (c *call) requests(f filter, size int32) (*adminv1.ListRequestsResponse, error) {
	return c.admin.ListRequests(c.ctx, &adminv1.ListRequestsRequest{PageSize: size, PageToken: c.r.URL.Query().Get("after"), Filter: f.RequestFilter})
}

func listRequests(c *call) error {
	f := c.filter()
	resp, err := c.requests(f, requestRows)
	if err != nil {
		return err
	}
	after := c.r.URL.Query().Get("after")
	p := requestsPage{Columns: requestColumns, Lost: f.Lost, Retried: f.Retried, WithoutKind: f.WithoutKind, CSV: f.link("/requests.csv", after), Filtered: len(f.Values) > 0}
	for _, r := range resp.GetRequests() {
		p.Rows = append(p.Rows, rowOf(r, resp.GetKeyNames()))
	}
	for _, field := range filterFields {
		p.Fields = append(p.Fields, formField{Name: field.Name, Title: field.Title, Value: f.Get(field.Name), Known: known(resp, field.of)})
	}
	for _, o := range outcomes {
		chosen := false
		for _, asked := range f.Values["outcome"] {
			chosen = chosen || asked == o.Value
		}
		p.Outcomes = append(p.Outcomes, choice{Value: o.Value, Title: o.Value, Current: chosen})
	}
	for _, period := range requestPeriods {
		p.Periods = append(p.Periods, choice{Value: period.Value, Title: period.Title, Current: f.Get("period") == period.Value || f.Get("period") == "" && period.Back == 0})
	}
	if next := resp.GetNextPageToken(); next != "" {
		p.Next = f.link("/requests", next)
		if resp.GetReadUntil() != nil {
			p.Until = resp.GetReadUntil().AsTime().UTC().Format(time.DateTime)
		}
	}
	if after != "" {
		p.First = f.link("/requests", "")
	} else {
		p.Live = f.link("/requests/live", "")
	}
	p.Chips = f.chips(resp.GetKeyNames())
	c.show(http.StatusOK, "requests.html", "Requests", p)
	return nil
}

// known are the values of a field of the requests that are shown. Keys have their names as titles.
func known(resp *adminv1.ListRequestsResponse, of func(*adminv1.LoggedRequest) string) []choice {
	seen := map[string]string{}
	for _, r := range resp.GetRequests() {
		if value := of(r); value != "" {
			seen[value] = resp.GetKeyNames()[value]
		}
	}
	var list []choice
	for _, value := range slices.Sorted(maps.Keys(seen)) {
		list = append(list, choice{Value: value, Title: seen[value]})
	}
	return list
}

// requestsCSV returns what the page shows, and more of it: up to 1000 requests. The key is its id there, and its
// name is the last column.
func requestsCSV(c *call) error {
	resp, err := c.requests(c.filter(), csvRows)
	if err != nil {
		return err
	}
	head := []string{"id"}
	for _, column := range requestColumns {
		head = append(head, column.Title)
	}
	table := [][]string{append(head, "Key name")}
	for _, r := range resp.GetRequests() {
		table = append(table, append(append([]string{r.GetId()}, rowOf(r, nil).Cells...), resp.GetKeyNames()[r.GetKeyId()]))
	}
	return c.writeCSV("genway-requests.csv", table)
}

// refusedRow is a request that was refused, with the limit that refused it in words.
type refusedRow struct {
	*adminv1.RefusedRequest
	Limit string
}

type refusedPage struct {
	*adminv1.ListRefusedRequestsResponse
	Rows []refusedRow
}

// listRefused shows the sample of refused requests.
func listRefused(c *call) error {
	resp, err := c.admin.ListRefusedRequests(c.ctx, &adminv1.ListRefusedRequestsRequest{})
	if err != nil {
		return err
	}
	p := refusedPage{ListRefusedRequestsResponse: resp}
	for _, r := range resp.GetRequests() {
		p.Rows = append(p.Rows, refusedRow{r, quotaWords(r.GetQuota())})
	}
	c.show(http.StatusOK, "refused.html", "Refused requests", p)
	return nil
}

// quotaWords writes a limit: key, 5 requests/minute; empty for none.
func quotaWords(q *genwayv1.Quota) string {
	switch {
	case q == nil:
		return ""
	case q.GetPeriod() != "":
		return q.GetScope() + ", " + money(q.GetLimit()) + " a " + q.GetPeriod()
	}
	return q.GetScope() + ", " + count(q.GetLimit()) + " " + q.GetUnit()
}

type requestPage struct {
	*adminv1.GetRequestResponse
	Row        requestRow
	Stages     []chart.Stage
	Chart      template.HTML
	Attempts   []attemptRow
	Prices     []formField
	Neighbours []requestRow
	Columns    []column
	GRPCurl    string
	XRay       string
	// Playground is where one like it can be sent.
	Playground string
	// Like are requests like it, for a shell and for SDKs.
	Like []snippet
	// Reads says that the reader may see its captured bodies, if there are any.
	Reads bool
}

// attemptRow is an attempt with what came after it.
type attemptRow struct {
	*adminv1.RequestAttempt
	Then string
}

// movedOn says why a request goes to another target, by the kind or the reason of the failure before.
var movedOn = map[string]string{
	"CONTEXT_LENGTH_EXCEEDED": "the prompt is longer than its context window", "CONTENT_POLICY_VIOLATION": "its policy refuses the request", "IMAGE_BLOCKED": "its policy refuses the image",
	"rate_limited": "its rate limit is reached", "quota_exhausted": "its quota is exhausted", "overloaded": "it is overloaded", "unavailable": "it is unavailable",
	"bad_upstream": "its answer cannot be used", "timeout": "it took too long", "not_supported": "it does not support this",
}

// attemptRows are the attempts of a request. Each but the last has failed.
func attemptRows(resp *adminv1.GetRequestResponse) (rows []attemptRow) {
	attempts := resp.GetTimeline().GetAttempts()
	for i, a := range attempts {
		row := attemptRow{a, "answered the caller"}
		switch {
		case i+1 < len(attempts):
			row.Then = attempts[i+1].GetUpstream() + " was tried, since " + cmp.Or(movedOn[a.GetReason()], movedOn[kindName(a.GetKind())], "it failed")
		case kindName(a.GetKind()) != "":
			row.Then = "the caller got this failure"
		}
		rows = append(rows, row)
	}
	return rows
}

// showRequest shows one request and what it went through.
func showRequest(c *call) error {
	resp, err := c.admin.GetRequest(c.ctx, &adminv1.GetRequestRequest{Id: c.r.PathValue("id")})
	if err != nil {
		return err
	}
	r := resp.GetRequest()
	p := requestPage{GetRequestResponse: resp, Row: rowOf(r, resp.GetKeyNames()), Columns: requestColumns, Stages: stages(resp), Attempts: attemptRows(resp), Reads: c.readsCaptures(), Like: c.snippetsLike(r)}
	if len(p.Stages) > 0 {
		p.Chart = template.HTML(chart.Waterfall{ //nolint:gosec // package chart escapes its texts
			Title: "What the request went through", Description: "A row for each stage, on one scale of time. The table below has the same figures.", Stages: p.Stages, Format: fromBeginning,
		}.SVG())
	}
	for name, nano := range resp.GetPrice().GetNanoDollars() {
		p.Prices = append(p.Prices, formField{Name: name, Value: money(nano)})
	}
	slices.SortFunc(p.Prices, func(a, b formField) int { return cmp.Compare(a.Name, b.Name) })
	for _, n := range resp.GetNeighbours() {
		p.Neighbours = append(p.Neighbours, rowOf(n, resp.GetKeyNames()))
	}
	p.GRPCurl = fmt.Sprintf("grpcurl -plaintext -H \"authorization: Bearer $ADMIN_KEY\" -d '{\"id\":%q}' \\\n  %s genway.admin.v1.Admin/GetRequest", r.GetId(), cmp.Or(c.console.config.GRPC, "127.0.0.1:9090"))
	if p.XRay = "/requests/" + r.GetId() + "/bodies#xray"; !resp.GetCaptured() || !p.Reads {
		p.XRay = "/xray?" + url.Values{"protocol": {protocolName(r.Protocol)}, "model": {r.GetModel()}, "upstream": {r.GetUpstream()}, "request": {r.GetId()}}.Encode()
	}
	p.Playground = "/playground?" + url.Values{"protocol": {playLike(r)}, "model": {r.GetModel()}}.Encode()
	c.show(http.StatusOK, "request.html", "Request "+r.GetId(), p)
	return nil
}

// stages are the rows of the waterfall.
func stages(resp *adminv1.GetRequestResponse) []chart.Stage {
	t := resp.GetTimeline()
	if t == nil {
		return nil
	}
	var list []chart.Stage
	if t.GetAdmitted() != nil {
		list = append(list, chart.Stage{Name: "admission", Took: t.GetAdmitted().AsDuration(), Class: "wait"})
	}
	if begin := t.GetLimitsBegin().AsDuration(); t.GetLimitsEnd() != nil {
		list = append(list, chart.Stage{Name: "limits", Start: begin, Took: max(0, t.GetLimitsEnd().AsDuration()-begin), Class: "wait", Part: true})
	}
	if begin := t.GetRouteBegin().AsDuration(); t.GetRouteEnd() != nil {
		list = append(list, chart.Stage{Name: "route", Start: begin, Took: max(0, t.GetRouteEnd().AsDuration()-begin), Class: "wait"})
	}
	for i, a := range t.GetAttempts() {
		class := "ok"
		if kindName(a.GetKind()) != "" {
			class = "failed"
		}
		begin := a.GetBegin().AsDuration()
		list = append(list, chart.Stage{Name: fmt.Sprintf("%d. %s", i+1, a.GetUpstream()), Start: begin, Took: a.GetEnd().AsDuration() - begin, Class: class})
		from := begin
		for _, part := range []struct {
			name string
			to   *durationpb.Duration
		}{{"connect", a.GetConnected()}, {"headers", a.GetHeaders()}, {"first event", a.GetFirstEvent()}, {"held back", a.GetReleased()}, {"last event", a.GetEnd()}} {
			if part.to == nil {
				continue
			}
			to := part.to.AsDuration()
			if part.to == a.GetEnd() && a.GetFirstEvent() == nil && to <= from {
				continue // there was none
			}
			list = append(list, chart.Stage{Name: part.name, Start: from, Took: max(0, to-from), Class: class, Part: true})
			from = to
		}
	}
	if t.GetSettled() != nil {
		from := time.Duration(0)
		if n := len(t.GetAttempts()); n > 0 {
			from = t.GetAttempts()[n-1].GetEnd().AsDuration()
		}
		list = append(list, chart.Stage{Name: "settle", Start: from, Took: max(0, t.GetSettled().AsDuration()-from), Class: "wait"})
	}
	return list
}

// requestFile returns a request for a report of a bug: without whose it is.
func requestFile(c *call) error {
	resp, err := c.admin.GetRequest(c.ctx, &adminv1.GetRequestRequest{Id: c.r.PathValue("id")})
	if err != nil {
		return err
	}
	resp = proto.CloneOf(resp)
	resp.KeyNames = nil
	for _, r := range append(resp.GetNeighbours(), resp.GetRequest()) {
		r.KeyId, r.Owner, r.RequestId, r.TraceId = redacted(r.GetKeyId()), redacted(r.GetOwner()), redacted(r.GetRequestId()), redacted(r.GetTraceId())
	}
	text, err := protojson.MarshalOptions{Multiline: true}.Marshal(resp)
	if err != nil {
		return err
	}
	c.w.Header().Set("Content-Type", "application/json")
	c.w.Header().Set("Content-Disposition", `attachment; filename="genway-request.json"`)
	_, _ = c.w.Write(text) // the browser may have left
	return nil
}

func redacted(s string) string {
	if s == "" {
		return ""
	}
	return "[REDACTED " + strings.Repeat("x", min(len(s), 8)) + "]"
}

// requestPeriods are how far back a search goes.
var requestPeriods = []struct {
	Value, Title string
	Back         time.Duration
}{{"1h", "1 hour", time.Hour}, {"24h", "24 hours", 24 * time.Hour}, {"7d", "7 days", 7 * 24 * time.Hour}, {"30d", "30 days", 30 * 24 * time.Hour}, {"all", "all", 0}}

// outcomes are the outcomes that a search can ask for.
var outcomes = []struct {
	Value   string
	Outcome adminv1.Outcome
}{
	{"ok", adminv1.Outcome_OUTCOME_OK}, {"failed", adminv1.Outcome_OUTCOME_FAILED}, {"cancelled", adminv1.Outcome_OUTCOME_CANCELLED},
	{"interrupted", adminv1.Outcome_OUTCOME_INTERRUPTED}, {"open", adminv1.Outcome_OUTCOME_OPEN},
}

func outcomeName(o adminv1.Outcome) string {
	return strings.ToLower(strings.TrimPrefix(o.String(), "OUTCOME_"))
}

// filter is the search that a URL asks for.
type filter struct {
	url.Values
	*adminv1.RequestFilter
}

// filterFields are the members of a search that are texts, by their names in URLs.
var filterFields = []struct {
	Name, Title string
	// set sets the member, unless it has no such value.
	set func(*adminv1.RequestFilter, string) bool
	of  func(*adminv1.LoggedRequest) string
}{
	{"model", "Model asked", text(func(f *adminv1.RequestFilter) *string { return &f.Model }), (*adminv1.LoggedRequest).GetModel},
	{"served", "Model served", text(func(f *adminv1.RequestFilter) *string { return &f.ServedModel }), (*adminv1.LoggedRequest).GetServedModel},
	{"key", "Key id", text(func(f *adminv1.RequestFilter) *string { return &f.KeyId }), (*adminv1.LoggedRequest).GetKeyId},
	{"owner", "Owner", text(func(f *adminv1.RequestFilter) *string { return &f.Owner }), (*adminv1.LoggedRequest).GetOwner},
	{"upstream", "Upstream", text(func(f *adminv1.RequestFilter) *string { return &f.Upstream }), (*adminv1.LoggedRequest).GetUpstream},
	{"route", "Route", text(func(f *adminv1.RequestFilter) *string { return &f.Route }), (*adminv1.LoggedRequest).GetRoute},
	{"protocol", "Caller’s protocol", protocolIn(func(f *adminv1.RequestFilter) **genwayv1.Protocol { return &f.Protocol }), func(r *adminv1.LoggedRequest) string { return protocolName(r.Protocol) }},
	{"to", "Upstream’s protocol", protocolIn(func(f *adminv1.RequestFilter) **genwayv1.Protocol { return &f.UpstreamProtocol }), func(r *adminv1.LoggedRequest) string { return protocolName(r.UpstreamProtocol) }},
	{"kind", "Fault", kindIn, func(r *adminv1.LoggedRequest) string { return kindName(r.GetKind()) }},
	{"reason", "Reason", text(func(f *adminv1.RequestFilter) *string { return &f.Reason }), (*adminv1.LoggedRequest).GetReason},
	{"request", "Request id", text(func(f *adminv1.RequestFilter) *string { return &f.RequestId }), (*adminv1.LoggedRequest).GetRequestId},
	{"trace", "Trace id", text(func(f *adminv1.RequestFilter) *string { return &f.TraceId }), (*adminv1.LoggedRequest).GetTraceId},
}

// text sets a member that is a text.
func text(at func(*adminv1.RequestFilter) *string) func(*adminv1.RequestFilter, string) bool {
	return func(f *adminv1.RequestFilter, given string) bool {
		*at(f) = given
		return true
	}
}

// protocolIn sets a member that is a protocol.
func protocolIn(at func(*adminv1.RequestFilter) **genwayv1.Protocol) func(*adminv1.RequestFilter, string) bool {
	return func(f *adminv1.RequestFilter, given string) bool {
		p := protocolNamed(given)
		if p >= 0 {
			*at(f) = &p
		}
		return p >= 0
	}
}

// kindIn sets the kind of the fault.
func kindIn(f *adminv1.RequestFilter, given string) bool {
	f.Kind = genwayv1.ErrorKind(genwayv1.ErrorKind_value["ERROR_KIND_"+strings.ToUpper(given)])
	return f.GetKind() != genwayv1.ErrorKind_ERROR_KIND_UNSPECIFIED
}

// filter reads the search of a URL. What it does not know is left out of links as well.
func (c *call) filter() filter {
	f := filter{url.Values{}, &adminv1.RequestFilter{}}
	given := c.r.URL.Query()
	for _, field := range filterFields {
		if text := strings.TrimSpace(given.Get(field.Name)); text != "" && field.set(f.RequestFilter, text) {
			f.Set(field.Name, text)
		}
	}
	for _, o := range outcomes {
		if slices.Contains(given["outcome"], o.Value) {
			f.Outcomes = append(f.Outcomes, o.Outcome)
			f.Add("outcome", o.Value)
		}
	}
	for name, to := range map[string]*bool{"lost": &f.Lost, "retried": &f.Retried, "without_kind": &f.WithoutKind} {
		if *to = given.Get(name) != ""; *to {
			f.Set(name, "1")
		}
	}
	period := given.Get("period")
	for _, p := range requestPeriods {
		if p.Value == period {
			f.Set("period", period)
			if p.Back > 0 {
				f.Since = timestamppb.New(c.console.config.Clock().Add(-p.Back))
			}
		}
	}
	return f
}

// chips are what is searched for. The link of each is the search without it.
func (f filter) chips(names map[string]string) []choice {
	switches := map[string]string{"lost": "Dropped parameters", "retried": "Retried", "without_kind": "Unclassified error"}
	titles := map[string]string{"outcome": "Outcome", "period": "Period"}
	for _, field := range filterFields {
		titles[field.Name] = field.Title
	}
	var chips []choice
	for _, name := range slices.Sorted(maps.Keys(f.Values)) {
		for i, value := range f.Values[name] {
			rest := filter{Values: maps.Clone(f.Values)}
			if rest.Values[name] = slices.Delete(slices.Clone(f.Values[name]), i, i+1); len(rest.Values[name]) == 0 {
				rest.Del(name)
			}
			title := cmp.Or(switches[name], titles[name]+": "+cmp.Or(names[value], value))
			chips = append(chips, choice{Title: title, Link: rest.link("/requests", "")})
		}
	}
	return chips
}

// link returns the URL of a page of the search.
func (f filter) link(path, after string) string {
	with := url.Values{}
	maps.Copy(with, f.Values)
	if after != "" {
		with.Set("after", after)
	}
	if len(with) == 0 {
		return path
	}
	return path + "?" + with.Encode()
}

const (
	// beat is how often a live page gets a sign of life, and its session looked at.
	beat = 10 * time.Second
	// writeWithin is how long a browser may take to accept what it is sent.
	writeWithin = 10 * time.Second
)

// liveEvent is what a live page gets.
type liveEvent struct {
	Rows    []requestRow `json:"rows"`
	Dropped int64        `json:"dropped"`
}

// liveWriter writes events, each in the memory of the one before.
type liveWriter struct {
	event liveEvent
	text  bytes.Buffer
}

// liveWriters are those that no event needs. A browser has one only while an event is sent to it.
var liveWriters = sync.Pool{New: func() any { return &liveWriter{event: liveEvent{Rows: []requestRow{}}} }}

// write returns an event's text, which is valid until the next one.
func (w *liveWriter) write(resp *adminv1.WatchRequestsResponse) ([]byte, error) {
	requests := resp.GetRequests()
	w.event.Rows = slices.Grow(w.event.Rows[:0], len(requests))[:len(requests)]
	for i, r := range requests {
		w.event.Rows[i].fill(r, resp.GetKeyNames())
	}
	w.event.Dropped = resp.GetDropped()
	w.text.Reset()
	w.text.WriteString("data: ")
	if err := json.NewEncoder(&w.text).Encode(w.event); err != nil { // it ends the line
		return nil, fmt.Errorf("write an event: %w", err)
	}
	w.text.WriteByte('\n')
	return w.text.Bytes(), nil
}

// liveRequests sends requests as they end, as server-sent events, until the browser leaves, the
// session ends, or the browser does not read.
func liveRequests(c *call) error {
	f := c.filter()
	f.Since = nil
	ctx, stop := context.WithCancel(c.ctx)
	defer stop()
	stream, err := c.admin.WatchRequests(ctx, &adminv1.WatchRequestsRequest{Filter: f.RequestFilter})
	if err != nil {
		return err
	}
	got := make(chan *adminv1.WatchRequestsResponse)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		for {
			resp, err := stream.Recv()
			if err != nil {
				return
			}
			select {
			case got <- resp:
			case <-ctx.Done():
				return
			}
		}
	}()
	defer func() {
		stop()
		<-ended
	}()
	c.w.Header().Set("Content-Type", "text/event-stream")
	c.w.Header().Set("X-Accel-Buffering", "no")
	if err := c.send([]byte(": live\n\n")); err != nil {
		return nil // the browser has left
	}
	tick := time.NewTicker(beat)
	defer tick.Stop()
	for {
		var err error
		select {
		case <-ended:
			return nil
		case <-ctx.Done():
			return nil
		case <-tick.C:
			if _, err := c.admin.GetSession(ctx, &adminv1.GetSessionRequest{}); err != nil {
				return nil // the session has ended
			}
			err = c.send([]byte(": alive\n\n"))
		case resp := <-got:
			writer := liveWriters.Get().(*liveWriter) //nolint:forcetypeassert // the pool has no others
			text, failed := writer.write(resp)
			if failed != nil {
				return failed
			}
			err = c.send(text)
			liveWriters.Put(writer)
		}
		if err != nil {
			return nil // the browser has left, or does not read
		}
	}
}

// send writes at once.
func (c *call) send(text []byte) error {
	writer := http.NewResponseController(c.w)
	if err := writer.SetWriteDeadline(time.Now().Add(writeWithin)); err != nil && !errors.Is(err, http.ErrNotSupported) {
		return err
	}
	if _, err := c.w.Write(text); err != nil {
		return err
	}
	return writer.Flush()
}

// failureMix is the failed requests of an upstream by kind.
type failureMix struct {
	Upstream string
	Failed   int64
	Rows     []failureRow
	// Refused are the requests that it refused for what the caller sent, in all and by kind. Failed is without them.
	Refused     int64
	RefusedRows []failureRow
	// Bar draws the rows as parts of one bar.
	Bar template.HTML
}

// callersKinds are the failures that the caller's request is to blame for.
var callersKinds = []genwayv1.ErrorKind{
	genwayv1.ErrorKind_ERROR_KIND_INVALID_REQUEST, genwayv1.ErrorKind_ERROR_KIND_CONFLICT, genwayv1.ErrorKind_ERROR_KIND_TOO_LARGE,
	genwayv1.ErrorKind_ERROR_KIND_UNPROCESSABLE, genwayv1.ErrorKind_ERROR_KIND_UNSUPPORTED_MEDIA_TYPE, genwayv1.ErrorKind_ERROR_KIND_CANCELLED,
}

type failureRow struct {
	Kind     string
	Requests int64
	// Link leads to the requests.
	Link string
}

// mixesOf are the mixes of the upstreams that had failures.
func mixesOf(upstreams []*adminv1.Upstream) []failureMix {
	var mixes []failureMix
	for _, u := range upstreams {
		mix := failureMix{Upstream: u.GetName()}
		parts := chart.Parts{Title: "Failures of " + u.GetName()}
		var kinds []string
		for _, f := range u.GetFailures() {
			query := url.Values{"upstream": {u.GetName()}, "outcome": {"failed"}}
			if kind := kindName(f.GetKind()); kind != "" {
				query.Set("kind", kind)
			} else {
				query.Set("without_kind", "1")
			}
			row := failureRow{Kind: cmp.Or(strings.ReplaceAll(kindName(f.GetKind()), "_", " "), "unknown"), Requests: f.GetRequests(), Link: "/requests?" + query.Encode()}
			if slices.Contains(callersKinds, f.GetKind()) {
				mix.Refused += row.Requests
				mix.RefusedRows = append(mix.RefusedRows, row)
				continue
			}
			mix.Failed += row.Requests
			mix.Rows = append(mix.Rows, row)
			parts.Labels, parts.Values = append(parts.Labels, row.Kind), append(parts.Values, row.Requests)
			kinds = append(kinds, fmt.Sprintf("%s %s", row.Kind, count(row.Requests)))
		}
		if mix.Failed+mix.Refused == 0 {
			continue
		}
		if mix.Failed == 0 {
			mixes = append(mixes, mix)
			continue
		}
		parts.Description = strings.Join(kinds, ", ")
		mix.Bar = template.HTML(parts.SVG()) //nolint:gosec // the chart escapes all texts
		mixes = append(mixes, mix)
	}
	return mixes
}
