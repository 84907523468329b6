// Package items keeps the items of answers that callers of the responses protocol may refer
// to by their identifiers in later requests (item_reference), for a bounded time.
//
// The vendor stores responses and resolves such references itself. Upstreams of other
// protocols store nothing, and the identifiers of their items are Genway's, so Genway must
// know what they stand for. A Keeper keeps each item in the store that all cores share,
// encrypted by a key that is made of the item's identifier: only the caller has that, so
// neither the store nor a copy of it can be read without the caller's own requests. An item
// belongs to the API key it was given to.
//
// It must not import upstreams, routes, grpc or net/http.
package items
