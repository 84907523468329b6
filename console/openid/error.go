package openid

// A RefusedError is a sign-in that failed, in words for the person who signs in. It names no
// secret and nothing that the identity provider or the browser has sent but short codes.
type RefusedError struct {
	// Text is a sentence or two.
	Text string
	// Cause is for the log alone; nil for none.
	Cause error
}

func (e *RefusedError) Error() string {
	if e.Cause == nil {
		return e.Text
	}
	return e.Text + " " + e.Cause.Error()
}

func (e *RefusedError) Unwrap() error { return e.Cause }

// An UnavailableError is an identity provider that does not answer, or not as one.
type UnavailableError struct{ Cause error }

func (e *UnavailableError) Error() string {
	return "the identity provider is not available: " + e.Cause.Error()
}

func (e *UnavailableError) Unwrap() error { return e.Cause }
