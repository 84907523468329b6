package transport

// AcceptsKey is the trailer with which a core announces to an edge what it takes beyond the
// contract. The trailer ends each call but those whose requests came deferred: their edge has
// had the announcement. It holds for the connection on which it came, until that connection
// ends (proto/genway/edge/v1).
const AcceptsKey = "genway-accepts"

// DeferredBodies is the value of AcceptsKey that announces the deferral extension. A core of
// another version may announce other values, which mean nothing.
const DeferredBodies = "deferred-bodies"
