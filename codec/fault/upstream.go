package fault

// UpstreamNotFound is the name of an upstream that no route has.
func UpstreamNotFound() *Error {
	return &Error{Kind: NotFound, Reason: ReasonUpstreamNotFound, Param: "upstream", Message: "no route has an upstream of that name"}
}

// ModelNotFound is the name of a model that no route leads to. The text is OpenAI's.
func ModelNotFound(model string) *Error {
	e := New(NotFound, ReasonModelNotFound, "The model `%s` does not exist or you do not have access to it.", model)
	e.Param = "model"
	return e
}

// StreamCut is a stream that ended without its terminal event.
func StreamCut() *Error {
	return New(BadUpstream, ReasonStreamCut, "the upstream's stream ended before its end")
}

// MalformedAnswer is an answer of an upstream that cannot be read. Only the log has the cause,
// which may be nil.
func MalformedAnswer(cause error) *Error {
	return Wrap(cause, BadUpstream, ReasonMalformedAnswer, "the upstream's answer could not be read")
}
