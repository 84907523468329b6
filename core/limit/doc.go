// Package limit holds callers to what they were given: requests and tokens a minute,
// requests at once, money a day or a month; by key, by its owner and by model.
//
// It must import only the standard library, since core/keys builds on its types. What
// is shared between cores is behind an interface; package core/limit/shared has it, and core/limit/limittest what both stores must pass.
package limit
