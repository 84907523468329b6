package codec_test

import (
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/genway/genway/codec"
	genwayv1 "github.com/genway/genway/gen/genway/v1"
	"google.golang.org/protobuf/proto"
	"pgregory.net/rapid"
)

// Case T18: any identifier survives a protocol with a narrow alphabet.
func TestToolIDsAreBijective(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		id := rapid.StringMatching(`(gwid_)?[ -~é]{1,20}`).Draw(t, "id")
		spelled := codec.EncodeToolID(id)
		if strings.ContainsFunc(spelled, func(r rune) bool {
			return !strings.ContainsRune("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-", r)
		}) {
			t.Fatalf("%q is spelled %q", id, spelled)
		}
		if got := codec.DecodeToolID(spelled); got != id {
			t.Fatalf("%q came back as %q", id, got)
		}
	})
}

// An identifier that only looks encoded may hold any bytes. The contract's strings hold UTF-8 alone: it
// stays as it is.
func TestToolIDsAreText(t *testing.T) {
	for _, id := range []string{"gwid_7pY", "gwid_YWLulg"} {
		if got := codec.DecodeToolID(id); got != id {
			t.Errorf("%q is decoded to %q", id, got)
		}
	}
}

func TestSyntheticToolID(t *testing.T) {
	a, b := codec.SyntheticToolID("r", 0, 1), codec.SyntheticToolID("r", 0, 2)
	if a == b || !codec.IsSyntheticToolID(a) || codec.EncodeToolID(a) != a {
		t.Errorf("%s, %s", a, b)
	}
	if codec.IsSyntheticToolID("call_abc") {
		t.Error("a foreign identifier is taken for ours")
	}
}

// Case R1: a seal comes back byte for byte, whichever protocol carried it.
func TestSealsSurvive(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		// 77 is no protocol of the contract.
		origin := rapid.SampledFrom([]genwayv1.Protocol{1, 2, 3, 4, 77}).Draw(t, "origin")
		// No vendor's value looks like a seal of ours.
		native := func(v []byte) bool { return codec.ParseSeal(string(v), origin).Protocol == origin }
		want := &genwayv1.Seal{
			Protocol: origin,
			Value:    rapid.SliceOfN(rapid.Byte(), 1, 40).Filter(native).Draw(t, "value"),
		}
		carrier := rapid.SampledFrom([]genwayv1.Protocol{1, 2, 3, 4, 77}).Draw(t, "carrier")
		spelled := codec.SealText(want, carrier, rapid.Bool().Draw(t, "standard"))
		if carrier == want.Protocol && utf8.Valid(want.Value) && spelled != string(want.Value) {
			t.Fatalf("its own protocol sees %q", spelled)
		}
		if !utf8.ValidString(spelled) {
			t.Fatalf("%q cannot be a text of JSON", spelled)
		}
		if got := codec.ParseSeal(spelled, carrier); !proto.Equal(got, want) {
			t.Fatalf("%v came back as %v", want, got)
		}
	})
}

// A seal without an origin belongs to the protocol that carries it. Bytes that are not UTF-8 come back unchanged.
func TestSealsWithoutAnOrigin(t *testing.T) {
	for value, want := range map[string]string{"text": "text", "\xff\x00": "genway.chat._wA"} {
		spelled := codec.SealText(&genwayv1.Seal{Value: []byte(value)}, genwayv1.Protocol_PROTOCOL_CHAT_COMPLETIONS, false)
		if back := codec.ParseSeal(spelled, genwayv1.Protocol_PROTOCOL_CHAT_COMPLETIONS); spelled != want || string(back.GetValue()) != value || back.GetProtocol() != genwayv1.Protocol_PROTOCOL_CHAT_COMPLETIONS {
			t.Errorf("%q is %q, and %v when it comes back", value, spelled, back)
		}
	}
}

func TestEffortAndBudget(t *testing.T) {
	for _, c := range []struct {
		name   string
		in     *genwayv1.ThinkingConfig
		effort string
		budget int32
		known  [2]bool
	}{
		{"nothing", nil, "", 0, [2]bool{false, false}},
		{"effort", &genwayv1.ThinkingConfig{Effort: "medium"}, "medium", 8192, [2]bool{true, true}},
		{"a word of the vendor's", &genwayv1.ThinkingConfig{Effort: "ultra"}, "ultra", 0, [2]bool{true, false}},
		{"budget", &genwayv1.ThinkingConfig{BudgetTokens: proto.Int32(10000)}, "medium", 10000, [2]bool{true, true}},
		{"small budget", &genwayv1.ThinkingConfig{BudgetTokens: proto.Int32(1)}, "minimal", 1, [2]bool{true, true}},
		{"no budget", &genwayv1.ThinkingConfig{BudgetTokens: proto.Int32(0)}, "none", 0, [2]bool{true, true}},
		{"the model decides", &genwayv1.ThinkingConfig{BudgetTokens: proto.Int32(-1)}, "", -1, [2]bool{false, true}},
		{"disabled", &genwayv1.ThinkingConfig{Mode: genwayv1.ThinkingConfig_MODE_DISABLED}, "none", 0, [2]bool{true, true}},
	} {
		t.Run(c.name, func(t *testing.T) {
			effort, ok1 := codec.Effort(c.in)
			budget, ok2 := codec.Budget(c.in)
			if effort != c.effort || budget != c.budget || [2]bool{ok1, ok2} != c.known {
				t.Errorf("got %q %v, %d %v", effort, ok1, budget, ok2)
			}
		})
	}
}
