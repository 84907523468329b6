package admin

import (
	"fmt"

	"github.com/genway/genway/codec/fault"
	"github.com/genway/genway/core/keys"
	"github.com/genway/genway/core/limit"
)

// paths are what an update's mask can name beside the figures of limits, with what each takes over.
var paths = map[string]func(to *keys.Settings, from keys.Settings){
	"*":           func(to *keys.Settings, from keys.Settings) { *to = from },
	"name":        func(to *keys.Settings, from keys.Settings) { to.Name = from.Name },
	"owner":       func(to *keys.Settings, from keys.Settings) { to.Owner = from.Owner },
	"labels":      func(to *keys.Settings, from keys.Settings) { to.Labels = from.Labels },
	"expire_time": func(to *keys.Settings, from keys.Settings) { to.ExpireTime = from.ExpireTime },
	"models":      func(to *keys.Settings, from keys.Settings) { to.Policy.Models = from.Policy.Models },
	"addresses":   func(to *keys.Settings, from keys.Settings) { to.Policy.Addresses = from.Policy.Addresses },
	"certificates": func(to *keys.Settings, from keys.Settings) {
		to.Policy.Certificates = from.Policy.Certificates
	},
	"strict":        func(to *keys.Settings, from keys.Settings) { to.Policy.Strict = from.Policy.Strict },
	"priority":      func(to *keys.Settings, from keys.Settings) { to.Policy.Priority = from.Policy.Priority },
	"capture":       func(to *keys.Settings, from keys.Settings) { to.Policy.Capture = from.Policy.Capture },
	"read_captures": func(to *keys.Settings, from keys.Settings) { to.Policy.ReadCaptures = from.Policy.ReadCaptures },
	"read_only":     func(to *keys.Settings, from keys.Settings) { to.Policy.ReadOnly = from.Policy.ReadOnly },
	"limits":        func(to *keys.Settings, from keys.Settings) { to.Policy.Limits = from.Policy.Limits },
	"limits.budgets": func(to *keys.Settings, from keys.Settings) {
		to.Policy.Limits.Budgets = from.Policy.Limits.Budgets
	},
}

// taking returns what a path takes over; nil if the settings have no such member.
func taking(path string) func(to *keys.Settings, from keys.Settings) {
	for m := range limit.Money {
		if path == "limits."+m.Name() {
			return func(to *keys.Settings, from keys.Settings) {
				*to.Policy.Limits.Figure(m) = *from.Policy.Limits.Figure(m)
			}
		}
	}
	return paths[path]
}

// masked returns what takes over all that a mask names.
func masked(mask []string) (func(to *keys.Settings, from keys.Settings), error) {
	if len(mask) == 0 {
		return nil, fault.Missing("update_mask")
	}
	takes := make([]func(to *keys.Settings, from keys.Settings), len(mask))
	for i, path := range mask {
		if takes[i] = taking(path); takes[i] == nil {
			at := fmt.Sprintf("update_mask.paths[%d]", i)
			return nil, fault.Invalid(at, "%s: the settings have no such member", at)
		}
	}
	return func(to *keys.Settings, from keys.Settings) {
		for _, take := range takes {
			take(to, from)
		}
	}, nil
}
