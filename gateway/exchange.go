package gateway

import (
	"cmp"
	"context"
	"errors"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/genway/genway/codec"
	"github.com/genway/genway/codec/fault"
	"github.com/genway/genway/codec/images"
	"github.com/genway/genway/gateway/cores"
	genwayv1 "github.com/genway/genway/gen/genway/v1"
	"github.com/genway/genway/internal/arena"
	"github.com/genway/genway/internal/overload"
	"github.com/genway/genway/internal/transport"
	"github.com/genway/genway/protocol"
	"github.com/genway/genway/protocol/deferred"
	"github.com/genway/genway/telemetry/tracing"
	"google.golang.org/grpc"
	"google.golang.org/grpc/metadata"
	"google.golang.org/protobuf/proto"
)

// exchange is all the edge knows of one request. The request's context carries it. The
// runtime's marshalers get no context, so the hooks that do get one bind the exchange to
// the message that is to be marshalled.
type exchange struct {
	endpoint *endpoint
	id       string
	start    time.Time
	w        answerWriter
	// clientID is the caller's identifier of the request; empty for none. key is the
	// identifier of its key, which the core sends with the answer.
	clientID, key string
	// keyHeader is the header that the caller's key came in; empty for the URL's query.
	keyHeader string
	// authorization is the caller's key in the form that the core takes, and client the
	// caller's address.
	authorization string
	client        string
	// certificate has the names of the caller's TLS certificate; empty without one.
	certificate []string

	// asked is the message of a WebSocket that is answered, and socket the identifier of the request that has opened it; nil
	// and empty for a request of HTTP.
	asked  codec.SessionRequest
	socket string

	// operation is what the request asks for.
	operation *operation
	// message is the decoded request body, handed over by the marshaler.
	message proto.Message
	// model is the path's; empty where the body names the model.
	model string
	// request is the same for text, with the members of the body that say how to deliver
	// the answer.
	request *codec.Request
	// streamed says that a member of the body asks for events, and resumed that a parameter of the query asks for those of an
	// answer that is stored.
	streamed, resumed bool
	losses            codec.Losses
	named             []string // of them, in the header

	// body is the request's body, and contentType its type. fields are the members of a body that is a form, as
	// JSON. names maps the names that members have in it, and is made when the first member is to be named.
	body, fields []byte
	contentType  string
	names        *protocol.Names

	// answered is the header of a unary answer.
	answered []transport.Field

	// claim is the memory that the request's body takes.
	claim claim
	// memory holds the answer.
	memory arena.Arena
	// lent holds the body where the connection to the core reads it as well; nil where the body is the
	// collector's.
	lent *arena.Body

	// priority is the caller's key's, as far as the edge knows it. refused says that
	// the edge refused the request because of an overload.
	priority overload.Priority
	refused  bool

	// span is the request's. record has what its log line and metrics need.
	span   tracing.Span
	record requestRecord

	// fault is the failure that was reported to the caller.
	fault  *fault.Error
	stream *streamState
}

// modelOf returns the model of an answer, or the one that the caller asked for if the answer has none.
// Cores need not name it, and protocols require it.
func (x *exchange) modelOf(answered string) string {
	asked := x.model
	if x.request != nil {
		asked = cmp.Or(asked, x.request.GetModel())
	}
	return cmp.Or(answered, asked)
}

// whole returns the request with its conversation if the answer may repeat parts of it.
func (x *exchange) whole() *codec.Request {
	repeater, ok := x.endpoint.marshaler.text.(codec.Repeater)
	if x.request == nil || !ok || !deferred.Is(x.request.GenerateTextRequest) || !repeater.Repeats(x.request.GetWire().GetJson()) {
		return x.request
	}
	// A body that cannot be decoded has no answer to encode.
	if whole, err := deferred.New(x.request.GenerateTextRequest).Whole(); err == nil {
		req := *x.request
		req.GenerateTextRequest, req.Statistics = whole, nil
		x.request = &req
	}
	return x.request
}

// outgoing returns a context whose calls carry the caller's key, address and identifiers to
// the core, as metadata.
func (x *exchange) outgoing(ctx context.Context) context.Context {
	values := [...]string{x.authorization, x.endpoint.protocol.Name, x.id, x.client, x.clientID, ""}
	md := metadata.MD{
		"authorization": values[0:1:1], "genway-protocol": values[1:2:2], "x-request-id": values[2:3:3], addressKey: values[3:4:4],
	}
	if x.priority == overload.Batch {
		md[priorityKey] = []string{overload.Batch.String()}
	}
	if x.clientID != "" {
		md[clientIDKey] = values[4:5:5]
	}
	x.span.Headers(func(name, value string) {
		if name == tracing.ParentKey { // the only one that nearly all calls have
			values[5] = value
			md[name] = values[5:6:6]
			return
		}
		md[name] = []string{value}
	})
	if len(x.certificate) > 0 {
		md[certificateKey] = x.certificate
	}
	if x.lent != nil {
		ctx = arena.WithBody(ctx, x.lent)
	}
	return transport.WithOutgoing(arena.With(ctx, &x.memory), md)
}

type exchangeKey struct{}

func withExchange(r *http.Request, x *exchange) *http.Request {
	return r.WithContext(context.WithValue(r.Context(), exchangeKey{}, x))
}

// exchangeOf returns the exchange a context belongs to.
func exchangeOf(ctx context.Context) *exchange {
	x, _ := ctx.Value(exchangeKey{}).(*exchange)
	return x
}

// bound is a message for the marshaler, with the exchange that it answers.
type bound struct {
	x       *exchange
	message proto.Message
}

// answerPrefix begins the names of metadata with headers of an upstream's answer that the
// caller may read.
const answerPrefix = "genway-answer-"

// answerHeaders are the headers of answers that pass through. The core sends each caller
// only those of its own protocol.
type answerHeaders struct {
	// passed has their names in lower case, as protocol.NamesHeader takes them.
	passed []string
	// canonical maps the usual names in lower case to their form in http.Header. Converting
	// one costs more than everything else that is done with a header.
	canonical map[string]string
}

// upstreamIDHeader has the upstream's name of the call.
const upstreamIDHeader = "X-Genway-Upstream-Request-Id"

func newAnswerHeaders() answerHeaders {
	a := answerHeaders{passed: []string{strings.ToLower(upstreamIDHeader)}, canonical: map[string]string{}}
	for _, p := range protocol.All() {
		for _, name := range p.AnswerHeaders {
			a.passed = append(a.passed, strings.ToLower(name))
		}
	}
	slices.Sort(a.passed)
	a.passed = slices.Compact(a.passed)
	for _, name := range append([]string{"X-Genway-Upstream", "X-Genway-Attempts", upstreamIDHeader}, protocolHeaders()...) {
		a.canonical[strings.ToLower(name)] = name
	}
	return a
}

// protocolHeaders are the headers of answers that have a name in some protocol.
func protocolHeaders() []string {
	var names []string
	add := func(name string) {
		if !strings.HasSuffix(name, "-") && !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	for _, p := range protocol.All() {
		for _, name := range p.AnswerHeaders {
			add(name)
		}
		if p.Rates != nil {
			for _, name := range slices.Concat(p.Rates.Requests[:], p.Rates.Tokens[:]) {
				add(name)
			}
		}
	}
	return names
}

// name returns a name in lower case in the form of http.Header.
func (a *answerHeaders) name(lower string) string {
	if known, ok := a.canonical[lower]; ok {
		return known
	}
	return http.CanonicalHeaderKey(lower)
}

// coreConn is the connection to the core as the generated client has it.
type coreConn struct {
	grpc.ClientConnInterface

	remote bool // the core is reached over a connection of Dial
}

// Invoke makes a unary call, whichever it is, for the exchange of the context. It writes the headers of the answer or of
// the failure to the caller.
func (c coreConn) Invoke(ctx context.Context, method string, in, out any, opts ...grpc.CallOption) error {
	x := exchangeOf(ctx)
	header := headerIn(opts)
	if header == nil {
		header = new(metadata.MD)
		opts = append(opts, grpc.Header(header))
	}
	if !c.remote {
		opts = append(opts, transport.Fields(&x.answered))
	}
	x.record.call(method[1:])
	_, err := deliver(x.outgoing(ctx), c.remote, in, func(ctx context.Context, in any) (any, error) {
		return nil, c.ClientConnInterface.Invoke(ctx, method, in, out, opts...)
	})
	x.record.awaited(x.record.begun)
	x.record.answered(err)
	if len(*header) > 0 {
		x.answered = transport.FieldsOf(*header)
	}
	x.writeAnswerHeaders(x.answered)
	if err == nil {
		err = checkAnswer(out, x.endpoint.protocol.ID)
	}
	return err
}

// checkAnswer returns an error for an answer to a caller of the protocol that breaks the contract. Of Marshal
// the runtime would log it for each request.
func checkAnswer(answer any, caller genwayv1.Protocol) error {
	switch answer := answer.(type) {
	case *genwayv1.GenerateTextResponse:
		return codec.CheckAnswer(answer, caller)
	case *genwayv1.GenerateImageResponse:
		return images.CheckAnswer(answer)
	}
	return nil
}

// headerIn returns the destination of the header in the options, as the runtime's have one;
// nil for none.
func headerIn(opts []grpc.CallOption) *metadata.MD {
	for _, o := range opts {
		if h, ok := o.(grpc.HeaderCallOption); ok {
			return h.HeaderAddr
		}
	}
	return nil
}

// ownPrefix begins the names of metadata in which the core describes an answer, such as the
// upstream that served it.
const ownPrefix = "x-genway-"

// writeAnswerHeaders writes the state of the caller's limits, the core's fields about the
// answer and the upstream's headers, while headers can still be sent. The runtime does so for
// answers and not for failures. Headers that are set already are Genway's own and stay.
func (x *exchange) writeAnswerHeaders(fields []transport.Field) {
	x.endpoint.edge.batch.learn(x, fields)
	if key, ok := valueOf(fields, keyKey); ok {
		x.key = key
	}
	if x.w.status != 0 {
		return
	}
	x.writeRates(fields)
	h, names, values := x.w.Header(), &x.endpoint.edge.answers, make([]string, 0, len(fields))
	for _, f := range fields {
		name, ok := strings.CutPrefix(f.Name, answerPrefix)
		if !ok {
			name, ok = f.Name, strings.HasPrefix(f.Name, ownPrefix)
		} else {
			ok = protocol.NamesHeader(names.passed, name)
		}
		if !ok {
			continue
		}
		if name = names.name(name); len(h[name]) == 0 {
			values = append(values, f.Value)
			h[name] = values[len(values)-1 : len(values) : len(values)]
		}
	}
}

// valueOf returns the value of a field of that name.
func valueOf(fields []transport.Field, name string) (value string, ok bool) {
	for _, f := range fields {
		if f.Name == name {
			return f.Value, true
		}
	}
	return "", false
}

// deliver calls a core. A deferred request that reaches a core which has not announced that it takes
// such requests is decoded and sent whole; if it cannot be decoded, the error is its codec's.
func deliver[Q, A any](ctx context.Context, remote bool, in Q, call func(context.Context, Q) (A, error)) (A, error) {
	text, ok := any(in).(*genwayv1.GenerateTextRequest)
	if !ok || !remote || !text.GetWire().GetExtension().GetDeferred() {
		return call(ctx, in)
	}
	delivery := cores.Deferred(ctx)
	answer, err := call(delivery, in) //nolint:contextcheck // delivery is made of ctx
	if err == nil || !delivery.NeedsWhole() {
		return answer, err
	}
	whole, err := deferred.New(text).Whole()
	if err != nil {
		return answer, err
	}
	return call(ctx, any(whole).(Q)) //nolint:forcetypeassert // text is one
}

// The metadata by which the core reports a caller's standing with its limits a minute:
// the limit, what remains of it, and the milliseconds until it is unused again.
const (
	rateRequestsKey = "genway-rate-requests"
	rateTokensKey   = "genway-rate-tokens" //nolint:gosec // the name of the metadata, not a secret
	// rateBudgetKey has the fullest budget: its amount, what is spent of it, the period, the
	// seconds since 1970 of its reset, and the scope.
	rateBudgetKey = "genway-rate-budget"
)

// writeRates names the caller's standing in the headers that the vendor of its protocol
// has for it, if it has any.
func (x *exchange) writeRates(fields []transport.Field) {
	rates := x.endpoint.protocol.Rates
	if rates == nil {
		return
	}
	for _, f := range fields {
		switch f.Name {
		case rateRequestsKey:
			x.writeRate(&rates.Requests, f.Value, rates.Reset)
		case rateTokensKey:
			x.writeRate(&rates.Tokens, f.Value, rates.Reset)
		case rateBudgetKey:
			if rates.Budget != nil {
				x.writeBudget(f.Value)
			}
		}
	}
}

// writeBudget reports the caller's standing with its fullest budget.
func (x *exchange) writeBudget(text string) {
	figures := strings.Fields(text)
	if len(figures) < 5 { // a newer core may say more
		return
	}
	limit, errLimit := strconv.ParseInt(figures[0], 10, 64)
	spent, errSpent := strconv.ParseInt(figures[1], 10, 64)
	reset, errReset := strconv.ParseInt(figures[3], 10, 64)
	if errors.Join(errLimit, errSpent, errReset) != nil || limit <= 0 {
		return
	}
	b, scope := protocol.Budget{Period: figures[2]}, figures[4]
	b.Spent, b.Shared, b.Reset = float64(spent)/float64(limit), scope != ownScope, time.Unix(reset, 0)
	for name, value := range x.endpoint.protocol.Rates.Budget(b) {
		x.w.Header().Set(name, value)
	}
}

// ownScope is the scope of limits that only the caller's key spends.
const ownScope = "key"

// writeSpent names the budget of which not enough is left for the request, in the place of what
// writeBudget has named.
func (x *exchange) writeSpent(f *fault.Error) {
	rates, quota := x.endpoint.protocol.Rates, f.Quota
	if rates == nil || rates.Budget == nil || f.Kind != fault.QuotaExhausted || quota.GetResetTime() == nil {
		return
	}
	h := x.w.Header()
	for name := range rates.Budget(protocol.Budget{}) {
		h.Del(name)
	}
	for name, value := range rates.Budget(protocol.Budget{Refused: true, Spent: 1, Period: quota.GetPeriod(), Shared: quota.GetScope() != ownScope, Reset: quota.GetResetTime().AsTime()}) {
		h.Set(name, value)
	}
}

func (x *exchange) writeRate(names *[3]string, text string, spell func(time.Duration) string) {
	limit, rest, _ := strings.Cut(text, " ")
	remaining, reset, _ := strings.Cut(rest, " ")
	ms, err := strconv.ParseInt(reset, 10, 64)
	if err != nil {
		return
	}
	figures := [...]string{limit, remaining, spell(time.Duration(ms) * time.Millisecond)}
	h := x.w.Header()
	for i, name := range names {
		h[name] = figures[i : i+1 : i+1]
	}
}

// client is the core's client as the runtime sees it. It makes streams safe to forward. A
// call that fails before its first message fails as a unary call does. Silence becomes
// pings. An end without the completed event becomes an error.
type client struct {
	genwayv1.GenerationClient
	remote    bool // as coreConn has it
	heartbeat time.Duration
}

// spells returns the names that the caller's protocol has for members of the contract.
func (x *exchange) spells() *protocol.Names {
	if x.names == nil {
		body := x.body
		if x.fields != nil {
			body = x.fields
		}
		x.names = x.endpoint.protocol.Names(body, x.message)
	}
	return x.names
}
