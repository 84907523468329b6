package limit

import (
	"fmt"
	"strconv"
	"strings"
)

// Dollar is a dollar in the unit of all money here, the nano-dollar.
const Dollar = 1_000_000_000

// maxDollars keeps every amount exact in all stores: one of them calculates in
// floating point, which holds integers up to 2^53.
const maxDollars = 9_000_000

// ParseMoney reads dollars: digits, and up to nine more behind a point: "12.50". The
// result is in nano-dollars.
func ParseMoney(text string) (int64, error) {
	whole, part, pointed := strings.Cut(text, ".")
	if !digits(whole) || pointed && (!digits(part) || len(part) > 9) {
		return 0, fmt.Errorf("%q is no amount; write dollars, as in 12.50", text)
	}
	dollars, err := strconv.ParseInt(whole, 10, 64)
	if err != nil || dollars > maxDollars {
		return 0, fmt.Errorf("%q is more than a budget can be, %d dollars", text, maxDollars)
	}
	nanos, err := strconv.ParseInt((part + "000000000")[:9], 10, 64)
	if err != nil {
		return 0, fmt.Errorf("%q is no amount: %w", text, err)
	}
	return dollars*Dollar + nanos, nil
}

func digits(s string) bool {
	return s != "" && strings.Trim(s, "0123456789") == ""
}

// FormatMoney writes nano-dollars as dollars, with two digits behind the point or as
// many as it takes: 12.50, 0.000012.
func FormatMoney(nanos int64) string {
	sign := ""
	if nanos < 0 {
		sign, nanos = "-", -nanos
	}
	part := fmt.Sprintf("%09d", nanos%Dollar)
	for len(part) > 2 && part[len(part)-1] == '0' {
		part = part[:len(part)-1]
	}
	return fmt.Sprintf("%s%d.%s", sign, nanos/Dollar, part)
}

// ParseBudget reads a budget as it is written: 12.50/month.
func ParseBudget(text string) (Budget, error) {
	amount, period, ok := strings.Cut(text, "/")
	if !ok || Period(period) != Day && Period(period) != Month {
		return Budget{}, fmt.Errorf("%q is no budget; write dollars and a period, as in 12.50/month or 1/day", text)
	}
	nanos, err := ParseMoney(amount)
	if err != nil {
		return Budget{}, err
	}
	if nanos == 0 {
		return Budget{}, fmt.Errorf("%q: a budget is above 0", text)
	}
	return Budget{Amount: nanos, Period: Period(period)}, nil
}

// String writes the budget as ParseBudget reads it.
func (b Budget) String() string { return FormatMoney(b.Amount) + "/" + string(b.Period) }
