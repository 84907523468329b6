package openai_test

import (
	"bytes"
	"testing"

	"github.com/genway/genway/codec/fault"
	"github.com/genway/genway/codec/openai"
	genwayv1 "github.com/genway/genway/gen/genway/v1"
)

const protocol = genwayv1.Protocol_PROTOCOL_IMAGES

// TestEveryKindComesBack holds the two tables against each other: what is written of
// a kind is read as that kind, or as the next the vendor has.
func TestEveryKindComesBack(t *testing.T) {
	next := map[fault.Kind]fault.Kind{
		fault.UpgradeRequired: fault.InvalidRequest, fault.Internal: fault.BadUpstream,
		genwayv1.ErrorKind_ERROR_KIND_UNSPECIFIED: fault.BadUpstream,
	}
	for number, name := range genwayv1.ErrorKind_name {
		kind := fault.Kind(number)
		err := fault.New(kind, "", "x")
		err.Param = "n"
		body := openai.Encode(err)
		if word, _ := openai.Words(err); word == "" {
			t.Errorf("%s has no type", name)
		}
		if n, ok := next[kind]; ok {
			kind = n
		}
		back := openai.Decode(err.HTTPStatus(), body, protocol)
		if back.Kind != kind || back.Message != "x" || back.Param != "n" || back.Status != err.HTTPStatus() || !bytes.Equal(back.Wire.GetJson(), body) {
			t.Errorf("%s: %s came back as %+v", name, body, back)
		}
	}
}

// TestWordsRefineTheStatus: the words count where they say more than the status, or
// where there is none.
func TestWordsRefineTheStatus(t *testing.T) {
	for _, c := range []struct {
		status int
		body   string
		want   fault.Kind
	}{
		{0, `{"error":{"message":"m","code":"invalid_prompt"}}`, fault.InvalidRequest},
		{0, `{"error":{"message":"m","type":"rate_limit_error","code":"odd"}}`, fault.RateLimited},
		{0, `{"error":{"message":"m","code":401}}`, fault.Unauthenticated},
		{0, `{"error":"m"}`, fault.BadUpstream},
		{400, `{"error":{"message":"m","code":"model_not_found"}}`, fault.NotFound},
		{413, `{"error":{"message":"m","code":"context_length_exceeded"}}`, fault.TooLarge},
		{402, `{"error":{"message":"m"}}`, fault.QuotaExhausted},
		{500, `{"error":{"message":"m","code":"vector_store_timeout"}}`, fault.Timeout},
		{500, `{"error":{"message":"m","code":"invalid_prompt"}}`, fault.BadUpstream},
		{503, `{"error":{"message":"m","code":"server_error"}}`, fault.Unavailable},
		{503, `{"error":{"message":"m","code":"slow_down"}}`, fault.Overloaded},
	} {
		if got := openai.Decode(c.status, []byte(c.body), protocol); got.Kind != c.want || got.Message != "m" {
			t.Errorf("%d %s: %+v", c.status, c.body, got)
		}
	}
}

func TestTextsAreEscaped(t *testing.T) {
	const want = `{"error":{"message":"a\"b�","type":"t","param":"p\n","code":null}}`
	if got := string(openai.Body("a\"b\xff", "t", "p\n", "")); got != want {
		t.Errorf("%s, want %s", got, want)
	}
}
