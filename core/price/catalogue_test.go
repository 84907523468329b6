package price_test

import (
	"strings"
	"testing"
	"time"

	"github.com/genway/genway/core/ledger"
	"github.com/genway/genway/core/price"
	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

const catalogue = `
prices:
  - model: sonnet
    input: 3
    output: 15
    cache_read: 0.30
    cache_write: 3.75
    cache_write_1h: "6"
    tiers:
      - {above: 200_000, input: 6, output: 22.50, cache_read: 0.6}
      - {above: 500000, output: 30}
  - {model: sonnet, from: 2026-03-01, input: 2, output: 10}
  - {model: sonnet, upstream: cheap, from: 2026-02-01, input: 1, output: 5}
  - {model: "*", upstream: local, input: 0, output: 0}
  - {model: "gpt-*", input: 1, output: 2}
  - {model: "gpt-*-mini", input: 0.1, output: 0.2, thinking: 0.4, input_audio: 1e-3}
  - {model: gpt-x-mini, upstream: azure, input: 7, output: 8}
  - {model: draw, image: 0.04, images: [{quality: hd, price: 0.08}, {size: 1024x1792, quality: hd, price: 0.12}]}
`

func parse(t *testing.T, text string) *price.Catalogue {
	t.Helper()
	c, err := price.Parse("prices.yaml", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func day(t *testing.T, text string) time.Time {
	t.Helper()
	d, err := price.ParseDay(text)
	if err != nil {
		t.Fatal(err)
	}
	return d.Time
}

// Classes without a price cost what the class they are part of does; tiers leave out
// what does not change.
func TestParse(t *testing.T) {
	p, ok := parse(t, catalogue).Find("", "sonnet", day(t, "2026-02-28"))
	base := price.Rates{Input: 3e9, Output: 15e9, CacheRead: 3e8, CacheWrite: 375e7, CacheWrite30m: 375e7, CacheWrite1h: 6e9, CacheWrite12h: 375e7, Thinking: 15e9,
		InputImage: 3e9, InputAudio: 3e9, OutputImage: 15e9, OutputAudio: 15e9}
	second := price.Rates{Input: 6e9, Output: 225e8, CacheRead: 6e8, CacheWrite: 375e7, CacheWrite30m: 375e7, CacheWrite1h: 6e9, CacheWrite12h: 375e7, Thinking: 225e8,
		InputImage: 6e9, InputAudio: 6e9, OutputImage: 225e8, OutputAudio: 225e8}
	third := second
	third.Output, third.Thinking, third.OutputImage, third.OutputAudio = 3e10, 3e10, 3e10, 3e10
	want := price.Price{ID: p.ID, Rates: base, Tiers: []price.Tier{{Above: 200_000, Rates: second}, {Above: 500_000, Rates: third}}}
	if diff := cmp.Diff(want, p); diff != "" || !ok {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if !strings.HasPrefix(p.ID, "sonnet#") || len(p.ID) != len("sonnet#01234567") {
		t.Errorf("its ID is %s", p.ID)
	}
}

func TestFind(t *testing.T) {
	c := parse(t, catalogue)
	for _, q := range []struct {
		name     string
		upstream string
		models   []string
		at       string
		want     string // of the ID, to the digest
	}{
		{"by name", "u", []string{"sonnet"}, "2026-01-01", "sonnet"},
		{"the latest that is not after", "u", []string{"sonnet"}, "2026-03-01", "sonnet@2026-03-01"},
		{"the upstream's own", "cheap", []string{"sonnet"}, "2026-03-01", "cheap:sonnet@2026-02-01"},
		{"before its own begins", "cheap", []string{"sonnet"}, "2026-01-31", "sonnet"},
		{"the upstream's glob before others' names", "local", []string{"sonnet"}, "2026-03-01", "local:*"},
		{"the longer glob", "u", []string{"gpt-x-mini"}, "2026-03-01", "gpt-*-mini"},
		{"the shorter glob", "u", []string{"gpt-x"}, "2026-03-01", "gpt-*"},
		{"the upstream's name", "azure", []string{"gpt-x-mini"}, "2026-03-01", "azure:gpt-x-mini"},
		{"a name before a glob of an earlier name", "u", []string{"gpt-x-2026-01-01", "sonnet"}, "2026-01-01", "sonnet"},
		{"the earlier name", "u", []string{"", "draw", "sonnet"}, "2026-01-01", "draw"},
		{"any upstream", "", []string{"sonnet"}, "2026-03-01", "sonnet@2026-03-01"},
		{"none", "u", []string{"opus"}, "2026-03-01", ""},
		{"no name", "local", []string{""}, "2026-03-01", ""},
	} {
		p, ok := c.FindFirst(price.Query{Upstream: q.upstream, Models: q.models, At: day(t, q.at)})
		got, _, _ := strings.Cut(p.ID, "#")
		if got != q.want || ok != (q.want != "") {
			t.Errorf("%s: %s, want %s", q.name, p.ID, q.want)
		}
		if back, found := c.ByID(p.ID); found != ok || cmp.Diff(back, p) != "" {
			t.Errorf("%s: by its ID %s: %+v", q.name, p.ID, back)
		}
	}
	var none *price.Catalogue
	if _, ok := none.Find("u", "sonnet", time.Now()); ok {
		t.Error("no catalogue finds something")
	}
	if _, ok := none.ByID("sonnet"); ok {
		t.Error("no catalogue has an ID")
	}
}

// The ledger keeps the ID of the variant that was paid.
func TestVariantByID(t *testing.T) {
	c := parse(t, catalogue)
	p, _ := c.Find("", "draw", time.Now())
	for _, v := range [][2]string{{"1024x1792", "hd"}, {"256x256", "hd"}, {"256x256", "low"}} {
		used := p.ForImage(v[0], v[1])
		back, ok := c.ByID(used.ID)
		if u := (ledger.Usage{Images: 1}); !ok || back.Cost(u) != used.Cost(u) || back.ID != used.ID {
			t.Errorf("%s: %+v", used.ID, back)
		}
	}
	if _, ok := c.ByID(p.ID + "/none/such"); ok {
		t.Error("a variant nobody has")
	}
}

// An ID is not another's, and an edited row has another one.
func TestIDs(t *testing.T) {
	seen := map[string]bool{}
	for _, row := range []string{
		"{model: a, input: 1, output: 2}", "{model: a, input: 1, output: 3}", "{model: a, upstream: u, input: 1, output: 2}",
		"{model: a, from: 2026-01-01, input: 1, output: 2}", "{model: a, input: 1, output: 2, tiers: [{above: 5, input: 3}]}",
		"{model: a, input: 1, output: 2, image: 4}", "{model: a, input: 1, output: 2, images: [{size: s, price: 4}]}",
	} {
		model := func(text string) string {
			upstream := ""
			if strings.Contains(text, "upstream") {
				upstream = "u"
			}
			p, _ := parse(t, "prices: ["+text+"]").Find(upstream, "a", time.Now())
			return p.ID
		}
		id := model(row)
		if seen[id] || id == "" {
			t.Errorf("%s: %s is another's", row, id)
		}
		seen[id] = true
		if again := model(strings.ReplaceAll(row, "input: 1,", `input: "1.000",`)); again != id {
			t.Errorf("spelled otherwise it is %s, not %s", again, id)
		}
	}
}

func TestErrorsSayWhere(t *testing.T) {
	for _, c := range []struct{ name, text, says string }{
		{"empty", "", "f.yaml: there are no prices in it"},
		{"no rows", "prices: []\n", "f.yaml: there are no prices in it"},
		{"unknown key", "prices:\n  - {model: a, inputs: 1, output: 2}\n", `f.yaml:2:16: unknown key "inputs" in prices[0]; did you mean "input"?`},
		{"unknown key of a tier", "prices:\n  - {model: a, input: 1, output: 2, tiers: [{abve: 1}]}\n", `unknown key "abve" in prices[0].tiers[0]; did you mean "above"?`},
		{"no model", "prices:\n  - {input: 1, output: 2}\n", "f.yaml:2:5: prices[0]: model is missing"},
		{"no input", "prices:\n  - {model: a, output: 2}\n", "prices[0]: input is missing"},
		{"no output", "prices:\n  - {model: a, input: 2}\n", "prices[0]: output is missing"},
		{"nothing", "prices:\n  - {model: a}\n", "prices[0]: input is missing"},
		{"no price", "prices:\n  - {model: a, input: cheap, output: 2}\n", `f.yaml:2:23: prices[0].input: "cheap" is no price; write dollars, as in 2.50`},
		{"below 0", "prices:\n  - {model: a, input: -1, output: 2}\n", `"-1" is no price`},
		{"too fine", "prices:\n  - {model: a, input: 0.0000000001, output: 2}\n", "finer than a nano-dollar"},
		{"too much", "prices:\n  - {model: a, input: 1e7, output: 2}\n", "more than a price can be"},
		{"no day", "prices:\n  - {model: a, from: soon, input: 1, output: 2}\n", `f.yaml:2:22: prices[0].from: "soon" is no day; write it as 2026-01-31`},
		{"twice", "prices:\n  - {model: a, input: 1, output: 2}\n  - {model: a, input: 1, output: 3}\n", "f.yaml:3:5: prices[1]: a has a price from that day already"},
		{"tiers out of order", "prices:\n  - {model: a, input: 1, output: 2, tiers: [{above: 5, input: 2}, {above: 5, input: 3}]}\n", "prices[0].tiers[1]: above: expected more than 5 tokens, got 5"},
		{"a tier of nothing", "prices:\n  - {model: a, input: 1, output: 2, tiers: [{above: 5}]}\n", "it changes no price"},
		{"tiers of images", "prices:\n  - {model: a, image: 1, tiers: [{above: 5, input: 2}]}\n", "no tiers"},
		{"an image of nothing", "prices:\n  - {model: a, images: [{price: 2}]}\n", "neither size nor quality"},
		{"no image price", "prices:\n  - {model: a, images: [{size: s}]}\n", "prices[0].images[0]: price is missing"},
		{"an image twice", "prices:\n  - {model: a, images: [{size: s, price: 1}, {size: s, price: 1}]}\n", "a price already"},
		{"a long name", "prices:\n  - {model: " + strings.Repeat("a", 101) + ", input: 1, output: 2}\n", "it has 101 bytes; at most 100 fit"},
		{"a long upstream", "prices:\n  - {model: a, upstream: " + strings.Repeat("a", 101) + ", input: 1, output: 2}\n", "it has 101 bytes; at most 100 fit"},
		{"a long size", "prices:\n  - {model: a, images: [{size: " + strings.Repeat("a", 26) + ", price: 1}]}\n", "more than 25 bytes"},
		{"not YAML", "prices: [", "f.yaml:1:"},
	} {
		_, err := price.Parse("f.yaml", []byte(c.text))
		if err == nil || !strings.Contains(err.Error(), c.says) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%s: %v", c.name, err)
		}
	}
	if _, err := price.Load("no/such/file"); err == nil {
		t.Error("a file that is not there was read")
	}
}

// What is written is read as it was.
func TestWriteRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		row := price.Row{
			Model:    rapid.StringMatching(`[a-zA-Z0-9:.*/_@# "'\\{}\[\],é-]{1,40}`).Draw(t, "model"),
			Upstream: rapid.StringMatching(`[a-z0-9.-]{0,8}`).Draw(t, "upstream"),
		}
		if rapid.Bool().Draw(t, "dated") {
			row.From = price.Day{Time: time.Unix(86400*rapid.Int64Range(1, 40_000).Draw(t, "day"), 0).UTC()}
		}
		one := func(name string) *price.Dollars {
			d := price.Dollars(rapid.Int64Range(0, 1e15).Draw(t, name))
			return &d
		}
		row.Input, row.Output = one("input"), one("output")
		if rapid.Bool().Draw(t, "more") {
			row.Thinking, row.Image = one("thinking"), one("image")
			row.Images = []price.ImageRow{{Size: "1x1", Price: one("variant")}}
			row.Tiers = []price.TierRow{{Above: rapid.Int64Range(1, 1e6).Draw(t, "above"), Classes: price.Classes{CacheRead: one("read")}}}
		}
		want, err := price.New([]price.Row{row})
		if err != nil {
			t.Fatal(err)
		}
		var text strings.Builder
		if err := price.Write(&text, []price.Row{row}); err != nil {
			t.Fatal(err)
		}
		got, err := price.Parse("f", []byte(text.String()))
		if err != nil {
			t.Fatalf("%s\n%v", &text, err)
		}
		at := time.Date(2100, 1, 1, 0, 0, 0, 0, time.UTC)
		name := strings.ReplaceAll(row.Model, "*", "x")
		before, _ := want.Find(row.Upstream, name, at)
		after, ok := got.Find(row.Upstream, name, at)
		if diff := cmp.Diff(before, after); diff != "" || !ok {
			t.Errorf("%s\n(-before +after):\n%s", &text, diff)
		}
	})
}

// A book returns what was put into it last.
func TestBook(t *testing.T) {
	var b price.Book
	if _, ok := b.Find("", "sonnet", time.Now()); ok {
		t.Error("an empty book finds something")
	}
	b.Swap(parse(t, catalogue))
	if _, ok := b.FindFirst(price.Query{Models: []string{"x", "sonnet"}, At: time.Now()}); !ok {
		t.Error("what is in it is not found")
	}
	b.Swap(nil)
	if _, ok := b.Find("", "sonnet", time.Now()); ok {
		t.Error("what was taken away is found")
	}
}
