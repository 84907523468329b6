package transport

// FailingKey is the header of a core's answer to a health check that names the parts which
// keep the core from being ready, such as "ledger". An edge passes unknown names on.
const FailingKey = "genway-failing"
