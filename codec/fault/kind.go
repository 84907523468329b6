package fault

import (
	"strings"

	genwayv1 "github.com/genway/genway/gen/genway/v1"
)

// Kind is why a call failed, as far as a caller may act on it.
type Kind = genwayv1.ErrorKind

// Name is a kind as logs and ledgers spell it: rate_limited.
func Name(k Kind) string { return strings.ToLower(strings.TrimPrefix(k.String(), "ERROR_KIND_")) }

// The kinds, under shorter names.
const (
	InvalidRequest       = genwayv1.ErrorKind_ERROR_KIND_INVALID_REQUEST
	Unauthenticated      = genwayv1.ErrorKind_ERROR_KIND_UNAUTHENTICATED
	PermissionDenied     = genwayv1.ErrorKind_ERROR_KIND_PERMISSION_DENIED
	NotFound             = genwayv1.ErrorKind_ERROR_KIND_NOT_FOUND
	MethodNotAllowed     = genwayv1.ErrorKind_ERROR_KIND_METHOD_NOT_ALLOWED
	Conflict             = genwayv1.ErrorKind_ERROR_KIND_CONFLICT
	TooLarge             = genwayv1.ErrorKind_ERROR_KIND_TOO_LARGE
	Unprocessable        = genwayv1.ErrorKind_ERROR_KIND_UNPROCESSABLE
	UpgradeRequired      = genwayv1.ErrorKind_ERROR_KIND_UPGRADE_REQUIRED
	RateLimited          = genwayv1.ErrorKind_ERROR_KIND_RATE_LIMITED
	QuotaExhausted       = genwayv1.ErrorKind_ERROR_KIND_QUOTA_EXHAUSTED
	Internal             = genwayv1.ErrorKind_ERROR_KIND_INTERNAL
	BadUpstream          = genwayv1.ErrorKind_ERROR_KIND_BAD_UPSTREAM
	Unavailable          = genwayv1.ErrorKind_ERROR_KIND_UNAVAILABLE
	Timeout              = genwayv1.ErrorKind_ERROR_KIND_TIMEOUT
	Overloaded           = genwayv1.ErrorKind_ERROR_KIND_OVERLOADED
	Cancelled            = genwayv1.ErrorKind_ERROR_KIND_CANCELLED
	UnsupportedMediaType = genwayv1.ErrorKind_ERROR_KIND_UNSUPPORTED_MEDIA_TYPE
	NotSupported         = genwayv1.ErrorKind_ERROR_KIND_NOT_SUPPORTED
)

// statuses is the one table from kinds to HTTP statuses.
var statuses = map[Kind]int{
	InvalidRequest:       400,
	Unauthenticated:      401,
	PermissionDenied:     403,
	NotFound:             404,
	MethodNotAllowed:     405,
	Conflict:             409,
	TooLarge:             413,
	UnsupportedMediaType: 415,
	Unprocessable:        422,
	UpgradeRequired:      426,
	RateLimited:          429,
	QuotaExhausted:       429,
	Cancelled:            499,
	Internal:             500,
	NotSupported:         501,
	BadUpstream:          502,
	Unavailable:          503,
	Overloaded:           503,
	Timeout:              504,
}

// KindOf derives a kind from an upstream's HTTP status.
func KindOf(status int) Kind {
	switch status {
	case 400:
		return InvalidRequest
	case 401:
		return Unauthenticated
	case 403:
		return PermissionDenied
	case 404:
		return NotFound
	case 405:
		return MethodNotAllowed
	case 408, 504:
		return Timeout
	case 409:
		return Conflict
	case 413:
		return TooLarge
	case 415:
		return UnsupportedMediaType
	case 422:
		return Unprocessable
	case 429:
		return RateLimited
	case 499:
		return Cancelled
	case 501:
		return NotSupported
	case 503:
		return Unavailable
	case 529:
		return Overloaded
	}
	if status >= 400 && status < 500 {
		return InvalidRequest
	}
	return BadUpstream
}
