package member

import (
	"math"
	"time"

	genwayv1 "github.com/genway/genway/gen/genway/v1"
)

// TTL returns how long a cache entry should live, in whole seconds of which an int32 holds the number; 0 is the vendor's
// default, as what is below a second is.
func TTL(c *genwayv1.CacheControl) time.Duration {
	return min(max(c.GetTtl().AsDuration(), 0), math.MaxInt32*time.Second).Truncate(time.Second)
}
