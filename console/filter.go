package console

import (
	"maps"
	"net/url"
	"slices"
	"strings"
	"time"

	adminv1 "github.com/genway/genway/gen/genway/admin/v1"
	"google.golang.org/protobuf/types/known/timestamppb"
)

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
	at          func(*adminv1.RequestFilter) *string
}{
	{"model", "Model asked", func(f *adminv1.RequestFilter) *string { return &f.Model }},
	{"served", "Model served", func(f *adminv1.RequestFilter) *string { return &f.ServedModel }},
	{"key", "Key id", func(f *adminv1.RequestFilter) *string { return &f.KeyId }},
	{"owner", "Owner", func(f *adminv1.RequestFilter) *string { return &f.Owner }},
	{"upstream", "Upstream", func(f *adminv1.RequestFilter) *string { return &f.Upstream }},
	{"route", "Route", func(f *adminv1.RequestFilter) *string { return &f.Route }},
	{"protocol", "Caller’s protocol", func(f *adminv1.RequestFilter) *string { return &f.Protocol }},
	{"to", "Upstream’s protocol", func(f *adminv1.RequestFilter) *string { return &f.UpstreamProtocol }},
	{"kind", "Fault", func(f *adminv1.RequestFilter) *string { return &f.Kind }},
	{"reason", "Reason", func(f *adminv1.RequestFilter) *string { return &f.Reason }},
	{"request", "Request id", func(f *adminv1.RequestFilter) *string { return &f.RequestId }},
	{"trace", "Trace id", func(f *adminv1.RequestFilter) *string { return &f.TraceId }},
}

// filter reads the search of a URL. What it does not know is left out of links as well.
func (c *call) filter() filter {
	f := filter{url.Values{}, &adminv1.RequestFilter{}}
	given := c.r.URL.Query()
	for _, field := range filterFields {
		if text := strings.TrimSpace(given.Get(field.Name)); text != "" {
			*field.at(f.RequestFilter) = text
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
