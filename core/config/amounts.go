package config

import (
	"time"

	"github.com/genway/genway/internal/amount"
	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
)

// Amounts of the file, as package amount reads them.
type (
	// Duration is a time with its unit: 90s, 1h30m, 30d.
	Duration time.Duration
	// Bytes is a number of bytes: 65536 or 64KiB.
	Bytes int64
	// Share is a part of a whole: 0.7 or 70%.
	Share float64
	// Days is a number of days: 30 or 30d.
	Days int
)

// UnmarshalYAML reads a duration. The error says where.
func (d *Duration) UnmarshalYAML(node ast.Node) error { return read(node, amount.Duration, d) }

// UnmarshalYAML reads a number of bytes. The error says where.
func (b *Bytes) UnmarshalYAML(node ast.Node) error { return read(node, amount.Bytes, b) }

// UnmarshalYAML reads a share. The error says where.
func (s *Share) UnmarshalYAML(node ast.Node) error { return read(node, amount.Share, s) }

// UnmarshalYAML reads a number of days. The error says where.
func (d *Days) UnmarshalYAML(node ast.Node) error { return read(node, amount.Days, d) }

// MarshalText writes it.
func (d Duration) MarshalText() ([]byte, error) { return []byte(time.Duration(d).String()), nil }

// read sets into to what a node's text is.
func read[Value, Amount ~int | ~int64 | ~float64](node ast.Node, parse func(string) (Value, error), into *Amount) error {
	text := node.GetToken().Value
	if s, ok := node.(*ast.StringNode); ok {
		text = s.Value // with its variables expanded
	}
	value, err := parse(text)
	if err != nil {
		return &yaml.SyntaxError{Token: node.GetToken(), Message: err.Error()}
	}
	*into = Amount(value)
	return nil
}
