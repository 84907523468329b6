// Package price says what a request costs: a Catalogue of dated rows, by upstream and
// model, read from a file of the operator's, and the arithmetic of one row.
//
// Money is integer nano-dollars: no floating-point number touches it. A row's rates are
// nano-dollars per million tokens, which spells $0.000000001 per million exactly; a
// request's cost is rounded once, to the nearest nano-dollar.
//
// The package must not import the packages that charge by it: it knows core/ledger for
// what was used, and nothing else of the core.
package price
