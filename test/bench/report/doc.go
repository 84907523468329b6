// Package report makes tables and a chart of records: medians, and multiples of Go's reverse proxy
// in the same round. It measures nothing.
package report
