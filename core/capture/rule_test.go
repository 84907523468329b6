package capture_test

import (
	"math"
	"strings"
	"testing"
	"time"

	"github.com/genway/genway/core/capture"
)

var now = time.Date(2026, 11, 23, 12, 0, 0, 0, time.UTC)

func budget() *capture.Budget { return capture.NewBudget(1 << 30) }

// Each mistake is named by its member; figures at their bounds are none.
func TestCheck(t *testing.T) {
	until := now.Add(time.Hour)
	for name, c := range map[string]struct {
		rule capture.Rule
		want string // members at fault
	}{
		"the least":            {capture.Rule{Until: until}, ""},
		"all at their bounds":  {capture.Rule{Share: 1, MaxBytes: capture.MaxBytes, Redact: []string{"content", "/messages/*/content", "/a~1b/~0"}, Until: now.Add(capture.MaxAhead)}, ""},
		"the smallest share":   {capture.Rule{Share: math.SmallestNonzeroFloat64, Until: until}, ""},
		"no end":               {capture.Rule{}, "until"},
		"too far ahead":        {capture.Rule{Until: now.Add(capture.MaxAhead + 1)}, "until"},
		"far beyond durations": {capture.Rule{Until: time.Date(9999, 1, 1, 0, 0, 0, 0, time.UTC)}, "until"},
		"has ended":            {capture.Rule{Until: now.Add(-time.Hour)}, ""},
		"share below 0":        {capture.Rule{Share: -1, Until: until}, "share"},
		"share above 1":        {capture.Rule{Share: math.Nextafter(1, 2), Until: until}, "share"},
		"share not a number":   {capture.Rule{Share: math.NaN(), Until: until}, "share"},
		"share infinite":       {capture.Rule{Share: math.Inf(1), Until: until}, "share"},
		"bytes below 0":        {capture.Rule{MaxBytes: -1, Until: until}, "max_bytes"},
		"bytes above the most": {capture.Rule{MaxBytes: capture.MaxBytes + 1, Until: until}, "max_bytes"},
		"bytes absurd":         {capture.Rule{MaxBytes: math.MaxInt64, Until: until}, "max_bytes"},
		"redact empty":         {capture.Rule{Redact: []string{"a", ""}, Until: until}, "redact[1]"},
		"redact all":           {capture.Rule{Redact: []string{"/"}, Until: until}, "redact[0]"},
		"redact twice":         {capture.Rule{Redact: []string{"a", "a"}, Until: until}, "redact[1]"},
		"redact no pointer":    {capture.Rule{Redact: []string{"/a~2", "/a~"}, Until: until}, "redact[0] redact[1]"},
		"redact long":          {capture.Rule{Redact: []string{strings.Repeat("a", 256)}, Until: until}, "redact[0]"},
		"redact no text":       {capture.Rule{Redact: []string{"\xff"}, Until: until}, "redact[0]"},
		"several":              {capture.Rule{Share: -1, MaxBytes: -1}, "share max_bytes until"},
	} {
		var at []string
		for _, m := range c.rule.Check(now) {
			at = append(at, m.Member)
			if m.Reason == "" {
				t.Errorf("%s: %s has no reason", name, m.Member)
			}
		}
		if got := strings.Join(at, " "); got != c.want {
			t.Errorf("%s: got %q, want %q", name, got, c.want)
		}
	}
	many := capture.Rule{Until: until}
	for i := range 65 {
		many.Redact = append(many.Redact, strings.Repeat("x", i+1))
	}
	if got := many.Check(now); len(got) != 1 || got[0].Member != "redact" {
		t.Errorf("65 entries: %v", got)
	}
}

// Nothing is captured unless a rule that is in force asks for it, whatever the clock does.
func TestBegin(t *testing.T) {
	rule := func(after time.Duration) *capture.Rule { return &capture.Rule{Until: now.Add(after)} }
	for name, c := range map[string]struct {
		at    time.Time
		rules []*capture.Rule
		want  bool
	}{
		"no rules":                    {now, nil, false},
		"nil rules":                   {now, []*capture.Rule{nil, nil}, false},
		"of the key":                  {now, []*capture.Rule{rule(time.Second), nil}, true},
		"of the route":                {now, []*capture.Rule{nil, rule(time.Second)}, true},
		"ended now":                   {now, []*capture.Rule{rule(0)}, false},
		"ended":                       {now, []*capture.Rule{rule(-time.Nanosecond), rule(-time.Hour)}, false},
		"one of both ended":           {now, []*capture.Rule{rule(-time.Hour), rule(time.Hour)}, true},
		"no end":                      {now, []*capture.Rule{{}}, false},
		"the clock was put back":      {now.Add(-30 * 24 * time.Hour), []*capture.Rule{rule(time.Hour)}, false},
		"the clock was put forward":   {now.Add(30 * 24 * time.Hour), []*capture.Rule{rule(time.Hour)}, false},
		"the clock is at its epoch":   {time.Unix(0, 0), []*capture.Rule{rule(time.Hour)}, false},
		"a share that is never drawn": {now, []*capture.Rule{{Share: math.SmallestNonzeroFloat64, Until: now.Add(time.Hour)}}, false},
	} {
		if got := capture.Begin(c.at, budget(), c.rules...); (got != nil) != c.want {
			t.Errorf("%s: %v", name, got)
		}
	}
}

// A share is drawn: of 20,000 requests about as many as it says.
func TestShare(t *testing.T) {
	rule, n := &capture.Rule{Share: 0.25, Until: now.Add(time.Hour)}, 0
	for range 20_000 {
		if capture.Begin(now, budget(), rule) != nil {
			n++
		}
	}
	if n < 4000 || n > 6000 { // 16 standard deviations
		t.Errorf("%d of 20,000 were captured by a share of 0.25", n)
	}
}

// What any rule in force redacts is redacted, also where another one has the request captured.
func TestRedactionsAdd(t *testing.T) {
	end := now.Add(time.Hour)
	c := capture.Begin(now, budget(),
		&capture.Rule{Redact: []string{"a"}, Until: end},
		&capture.Rule{Share: math.SmallestNonzeroFloat64, Redact: []string{"b"}, Until: end},
		&capture.Rule{Redact: []string{"c"}, Until: now})
	c.Add(capture.CallerRequest, "", []byte(`{"a":"x","b":"x","c":"x"}`))
	if got := string(only(t, c).Data); got != `{"a":"[redacted]","b":"[redacted]","c":"x"}` {
		t.Errorf("%s", got)
	}
}

// only closes a capture and returns its one body.
func only(t *testing.T, c *capture.Capture) capture.Body {
	t.Helper()
	if !c.Close() {
		t.Fatal("nothing is to be kept")
	}
	bodies := c.Bodies()
	if len(bodies) != 1 {
		t.Fatalf("%d bodies", len(bodies))
	}
	return bodies[0]
}
