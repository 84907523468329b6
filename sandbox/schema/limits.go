package schema

// The bounds of the work and of its result. Schemas come from callers.
const (
	deepestSchema = 256     // nested values in a schema or an instance
	deepestValue  = 64      // nested values that are made
	maxSteps      = 20_000  // values tried for one instance
	maxChecks     = 400_000 // schemas checked against a value for one instance
	maxBytes      = 1 << 20 // of the instance
	longestText   = 64 << 10
	maxMade       = 4096    // of one array or object that is made
	longestNumber = 400     // characters of a number, and its largest exponent
	maxBits       = 8192    // of a common multiple
	maxMatching   = 1 << 24 // bytes of a pattern times bytes of a string
	maxWriting    = 1 << 18 // nodes of a pattern visited to write one string
	maxVariants   = 12      // different values tried where keywords exclude some
	refsActive    = 2       // times one reference may be nested in itself
)
