package transport

// RefusedKey is the trailer with which a core announces to an edge that it has refused a call
// before the call was admitted: no limit counts it, the ledger has no entry of it and no
// upstream was called. The edge may then send the call to another core. A failed call without
// the trailer may have begun and is never sent again (docs/decisions/0019).
const RefusedKey = "genway-refused"

// The values of RefusedKey. Other values, of cores of other versions, are ignored.
const (
	// RefusedUnavailable says that the core cannot serve calls at the moment.
	RefusedUnavailable = "unavailable"
	// RefusedOverloaded says that the core is overloaded.
	RefusedOverloaded = "overloaded"
)
