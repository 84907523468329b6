package main

import (
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"strings"
	"time"

	"github.com/genway/genway/core/keys"
	"github.com/genway/genway/core/limit"
)

// summary gives in a few words what a key may do; a dash where it may do everything.
func summary(p keys.Policy) string {
	var words []string
	if len(p.Models) > 0 {
		words = append(words, "models "+strings.Join(p.Models, ","))
	}
	if len(p.Addresses) > 0 {
		words = append(words, "from "+strings.Join(addresses(p), ","))
	}
	if len(p.Certificates) > 0 {
		words = append(words, "with "+strings.Join(p.Certificates, ","))
	}
	for m, kind := range limit.Kinds {
		if n := *p.Limits.Figure(limit.Metric(m)); n != 0 {
			words = append(words, fmt.Sprint(n, " ", kind.Short))
		}
	}
	for _, budget := range p.Limits.Budgets {
		words = append(words, "$"+budget.String())
	}
	if p.Strict {
		words = append(words, "strict")
	}
	if p.Priority != "" {
		words = append(words, p.Priority)
	}
	if p.ReadOnly {
		words = append(words, "read-only")
	}
	if p.ReadCaptures {
		words = append(words, "reads captures")
	}
	if p.Capture != nil {
		words = append(words, "captured until "+p.Capture.Until.Format(time.RFC3339))
	}
	return dash(strings.Join(words, "; "))
}

// addresses writes single addresses without their length.
func addresses(p keys.Policy) []string {
	texts := make([]string, len(p.Addresses))
	for i, prefix := range p.Addresses {
		texts[i] = addressText(prefix)
	}
	return texts
}

func addressText(prefix netip.Prefix) string {
	if prefix.IsSingleIP() {
		return prefix.Addr().String()
	}
	return prefix.String()
}

// labelsText writes labels as the flag takes them.
func labelsText(labels map[string]string) string {
	texts := make([]string, 0, len(labels))
	for _, name := range slices.Sorted(maps.Keys(labels)) {
		texts = append(texts, name+"="+strings.ReplaceAll(labels[name], ",", `\,`))
	}
	return strings.Join(texts, ",")
}
