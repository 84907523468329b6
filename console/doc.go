// Package console is the web console: pages for operators, and for developers on their first
// day. It is an http.Handler and a client of the Admin service: whatever it shows or changes is
// a call of that service with the key of the session, so grpcurl can do all of it and the audit
// has each change.
//
// Pages are html/template, scripts are ES modules of its own, charts are SVG of package
// console/chart, and all of it is embedded. It loads nothing from elsewhere, builds nothing, and
// makes no use of inline scripts or styles, which its Content-Security-Policy forbids.
//
// It must not import core, gateway or a store.
package console
