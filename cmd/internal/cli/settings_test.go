package cli

import (
	"context"
	"io"
	"net/netip"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

type configured struct {
	Wait     time.Duration  `env:"TEST_WAIT" default:"20s" help:"How long."`
	Networks []netip.Prefix `env:"TEST_NETWORKS,TEST_NETS" placeholder:"CIDR" help:"Where."`
	Most     int            `env:"TEST_MOST" default:"3" help:"How many."`
	Least    int            `env:"TEST_LEAST" placeholder:"N" help:"How few."`
	Strict   *bool          `env:"TEST_STRICT" negatable:"" help:"Refuse."`
	Lax      bool           `help:"Do not refuse."`
	Store    string         `env:"TEST_STORE" placeholder:"URL" help:"Database."`

	settings []Setting
}

func (*configured) Run(context.Context, io.Writer) error { return nil }

func (c *configured) TakeSettings(settings []Setting) { c.settings = settings }

// Each flag has its value and where it is from: an argument precedes the environment, which precedes the default.
func TestSettings(t *testing.T) {
	t.Setenv("TEST_WAIT", "5s")
	t.Setenv("TEST_NETS", "10.0.0.0/8,fd00::/8")
	t.Setenv("TEST_MOST", "7")
	t.Setenv("TEST_STORE", "")
	grammar := &configured{}
	if _, err := (Program{Name: "test", Grammar: grammar}).Parse([]string{"--wait=1m", "--no-strict"}); err != nil {
		t.Fatal(err)
	}
	want := []Setting{
		{Flag: "--wait", Value: "1m0s", Given: true},
		{Flag: "--networks", Value: "10.0.0.0/8,fd00::/8", Variable: "TEST_NETS"},
		{Flag: "--most", Value: "7", Variable: "TEST_MOST"},
		{Flag: "--least"},
		{Flag: "--strict", Value: "false", Given: true},
		{Flag: "--lax", Value: "false"},
		{Flag: "--store", Variable: "TEST_STORE"},
	}
	if diff := cmp.Diff(want, grammar.settings); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
