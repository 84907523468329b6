package reconcile

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/genway/genway/core/ledger"
	"github.com/genway/genway/core/price"
)

// RequestID is the column that identifies a request. The other columns that identify records
// are the ledger's dimensions.
const RequestID = "request_id"

// figure is a column that is compared.
type figure struct {
	name string
	of   func(*ledger.Row) *int64
}

// figures are the columns that may be compared, requests first.
var figures = func() []figure {
	all := []figure{{"requests", func(r *ledger.Row) *int64 { return &r.Requests }}}
	for _, k := range ledger.Kinds {
		all = append(all, figure{k.Name, func(r *ledger.Row) *int64 { return r.Usage.At(k) }})
	}
	return append(all, figure{"cost", func(r *ledger.Row) *int64 { return &r.Cost }})
}()

// identities are the columns that identify records.
func identities() []string {
	names := []string{RequestID}
	for _, d := range ledger.Dimensions {
		names = append(names, string(d))
	}
	return names
}

// Columns are the names others have for our columns; the sum of several where a column
// is their sum.
type Columns map[string][]string

// ParseColumn reads input_tokens=uncached+cached. The first is one of ours.
func (c Columns) ParseColumn(text string) error {
	ours, theirs, ok := strings.Cut(text, "=")
	known := identities()
	for _, f := range figures {
		known = append(known, f.name)
	}
	switch {
	case !ok || theirs == "":
		return fmt.Errorf("%q: write OURS=THEIRS, or OURS=THEIRS+THEIRS for a sum", text)
	case !slices.Contains(known, ours):
		return fmt.Errorf("%q is no column of the ledger; one of %s", ours, strings.Join(known, ", "))
	}
	c[ours] = strings.Split(theirs, "+")
	if len(c[ours]) > 1 && slices.Contains(identities(), ours) {
		return fmt.Errorf("%q: %s is no sum", text, ours)
	}
	return nil
}

// theirs are the names of one of our columns.
func (c Columns) theirs(ours string) []string {
	if names, ok := c[ours]; ok {
		return names
	}
	return []string{ours}
}

// number reads a figure; an absent one is 0. Costs are in dollars, to the nearest
// nano-dollar.
func number(name, text string) (int64, error) {
	if text == "" {
		return 0, nil
	}
	if name == "cost" {
		d, _, err := price.Scale(text, 0)
		return int64(d), err
	}
	n, err := strconv.ParseInt(strings.TrimSuffix(text, ".0"), 10, 64)
	if err != nil || n < 0 {
		return 0, fmt.Errorf("%q is no number of %s", text, name)
	}
	return n, nil
}

func dayOf(text string) (string, error) {
	if t, err := time.Parse(time.RFC3339, text); err == nil {
		return t.UTC().Format(time.DateOnly), nil
	}
	day, err := price.ParseDay(text)
	return day.String(), err
}
