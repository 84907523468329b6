package gateway_test

import (
	"net/http"
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/genway/genway/codec/fault"
	"github.com/genway/genway/gateway"
	genwayv1 "github.com/genway/genway/gen/genway/v1"
	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/protoadapt"
	"google.golang.org/protobuf/types/known/durationpb"
)

// refused is a core's refusal, as a status.
func refused(t *testing.T) error {
	t.Helper()
	f := &fault.Error{Kind: fault.RateLimited, Reason: "TOKENS_PER_MINUTE", Message: "wait", RetryAfter: 1500 * time.Millisecond,
		Quota: &genwayv1.Quota{Scope: "key", Metric: "tokens", Limit: 500}}
	st, err := status.New(codes.ResourceExhausted, f.Message).WithDetails(protoadapt.MessageV1Of(f.Detail()), &errdetails.RetryInfo{RetryDelay: durationpb.New(f.RetryAfter)})
	if err != nil {
		t.Fatal(err)
	}
	return st.Err()
}

// Each protocol's callers find where they stand in the headers their vendor has for it,
// and in a refusal which limit it was; of streams too.
func TestStandingByProtocol(t *testing.T) {
	e := serve(t, nil)
	e.core.header = metadata.Pairs("genway-rate-requests", "60 59 1000", "genway-rate-tokens", "500 0 61500")
	openai := map[string]string{
		"X-Ratelimit-Limit-Requests": "60", "X-Ratelimit-Remaining-Requests": "59", "X-Ratelimit-Reset-Requests": "1s",
		"X-Ratelimit-Limit-Tokens": "500", "X-Ratelimit-Remaining-Tokens": "0", "X-Ratelimit-Reset-Tokens": "1m1.5s",
	}
	anthropic := map[string]string{
		"Anthropic-Ratelimit-Requests-Limit": "60", "Anthropic-Ratelimit-Requests-Remaining": "59",
		"Anthropic-Ratelimit-Tokens-Limit": "500", "Anthropic-Ratelimit-Tokens-Remaining": "0",
	}
	for _, c := range []struct {
		path, body string
		want       map[string]string
		refusal    string
	}{
		{"/v1/chat/completions", `{"model":"m","messages":[{"role":"user","content":"a"}]}`, openai, `"type":"tokens"`},
		{"/v1/chat/completions", `{"model":"m","stream":true,"messages":[{"role":"user","content":"a"}]}`, openai, `"code":"rate_limit_exceeded"`},
		{"/v1/responses", `{"model":"m","input":"a"}`, openai, `"type":"tokens"`},
		{"/v1/images/generations", `{"model":"m","prompt":"a"}`, openai, `"type":"tokens"`},
		{"/v1/messages", `{"model":"m","max_tokens":5,"messages":[{"role":"user","content":"a"}]}`, anthropic, `"type":"rate_limit_error"`},
		{"/v1/messages", `{"model":"m","stream":true,"max_tokens":5,"messages":[{"role":"user","content":"a"}]}`, anthropic, `"type":"rate_limit_error"`},
		{"/v1beta/models/m:generateContent", `{"contents":[{"parts":[{"text":"a"}]}]}`, nil,
			`{"@type":"type.googleapis.com/google.rpc.QuotaFailure","violations":[{"subject":"key","description":"wait","quotaMetric":"tokens","quotaId":"TOKENS_PER_MINUTE","quotaValue":"500"}]}`},
	} {
		for _, failing := range []bool{false, true} {
			e.core.fail = nil
			if failing {
				e.core.fail = refused(t)
			}
			before := time.Now()
			protocol := ""
			switch {
			case strings.HasPrefix(c.path, "/v1/messages"):
				protocol = "messages"
			case strings.HasPrefix(c.path, "/v1beta"):
				protocol = "generatecontent"
			}
			resp := e.do(t, http.MethodPost, c.path, right(protocol), c.body)
			for name, value := range c.want {
				if got := resp.header.Get(name); got != value {
					t.Errorf("%s: %s is %q, want %q", c.path, name, got, value)
				}
			}
			for name := range resp.header {
				if strings.Contains(strings.ToLower(name), "ratelimit") && c.want == nil || strings.Contains(name, "Genway-Rate") {
					t.Errorf("%s has %s", c.path, name)
				}
			}
			if at := resp.header.Get("Anthropic-Ratelimit-Tokens-Reset"); c.want["Anthropic-Ratelimit-Tokens-Limit"] != "" {
				reset, err := time.Parse(time.RFC3339, at)
				if err != nil || reset.Before(before.Add(61*time.Second)) || reset.After(time.Now().Add(63*time.Second)) {
					t.Errorf("%s: reset at %s, %v", c.path, at, err)
				}
			}
			if !failing {
				continue
			}
			if resp.status != http.StatusTooManyRequests || resp.header.Get("Retry-After") != "2" || resp.header.Get("Retry-After-Ms") != "1500" || !strings.Contains(resp.body, c.refusal) {
				t.Errorf("%s: %d %v\n%s", c.path, resp.status, resp.header, resp.body)
			}
		}
	}
}

// What a core of another version says of a budget makes no header unless it can be read.
func TestStandingOfBudgets(t *testing.T) {
	e := serve(t, nil)
	for said, want := range map[string]string{
		"1000 960 day 1786147200 key": "0.96", "1000 999 month 1786147200 owner": "0.99", "1000 5000 day 1786147200 key": "0.99", "3 1 day 1786147200 key more": "0.33",
		"": "", "1000": "", "0 0 day 1786147200 key": "", "-1 5 day 1 key": "", "a b c d e": "", "9223372036854775808 1 day 1 key": "", "1000 960 day 1.5 key": "",
	} {
		e.core.header = metadata.Pairs("genway-rate-budget", said)
		resp := e.do(t, http.MethodPost, "/v1/messages", right("messages"), `{"model":"m","max_tokens":5,"messages":[{"role":"user","content":"a"}]}`)
		if got := resp.header.Get("Anthropic-Ratelimit-Unified-Overage-Utilization"); got != want || resp.header.Get("Genway-Rate-Budget") != "" {
			t.Errorf("%q: %q, want %q in %v", said, got, want, resp.header)
		}
		if said = "1786147200"; want != "" && resp.header.Get("Anthropic-Ratelimit-Unified-Reset") != said {
			t.Errorf("%v", resp.header)
		}
	}
}

// The core learns where a request comes from; a proxy is believed only if it is trusted,
// and only for the address before it.
func TestClientAddress(t *testing.T) {
	for _, c := range []struct {
		name    string
		trusted []netip.Prefix
		hops    []string
		want    string
	}{
		{"no proxy", nil, nil, "127.0.0.1:"},
		{"untrusted", nil, []string{"10.0.0.9"}, "127.0.0.1:"},
		{"other trusted", []netip.Prefix{netip.MustParsePrefix("10.0.0.0/8")}, []string{"9.9.9.9"}, "127.0.0.1:"},
		{"trusted", []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}, []string{"9.9.9.9"}, "9.9.9.9"},
		{"the last counts", []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}, []string{"6.6.6.6, 9.9.9.9"}, "9.9.9.9"},
		{"a chain", []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8"), netip.MustParsePrefix("10.0.0.0/8")}, []string{"6.6.6.6", "9.9.9.9, 10.0.0.1"}, "9.9.9.9"},
		{"nonsense", []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}, []string{"9.9.9.9, evil"}, "127.0.0.1:"},
		{"trusted without a word", []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}, nil, "127.0.0.1:"},
	} {
		t.Run(c.name, func(t *testing.T) {
			e := serve(t, func(config *gateway.Config) { config.TrustedProxies = c.trusted })
			req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, e.URL+"/v1/models", http.NoBody)
			if err != nil {
				t.Fatal(err)
			}
			req.Header.Set("Authorization", "Bearer k")
			req.Header["X-Forwarded-For"] = c.hops
			resp, err := e.Client().Do(req)
			if err != nil {
				t.Fatal(err)
			}
			_ = resp.Body.Close()
			if got := e.core.metadata().Get("genway-client"); len(got) != 1 || !strings.HasPrefix(got[0], c.want) {
				t.Errorf("%q, want %s", got, c.want)
			}
		})
	}
}
