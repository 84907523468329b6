package generatecontent

import "github.com/genway/genway/codec/member"

// encodeStatus writes the body of a failed call.
func encodeStatus(code int, word, message string, details []errorDetail) []byte {
	to := member.NewWriter(512 + 2*len(message))
	to.Begin()
	to.Object("error")
	to.Int("code", int64(code))
	to.Str("message", message)
	to.Str("status", word)
	writeList(to, "details", details, (*errorDetail).write)
	to.End()
	to.End()
	out, _ := to.Finish() // strings and numbers have no failure
	return out
}

func (d *errorDetail) write(to *member.Writer) {
	to.Begin()
	to.Str("@type", d.Type)
	to.StrOpt("reason", d.Reason)
	to.StrOpt("domain", d.Domain)
	to.StrOpt("requestId", d.RequestID)
	to.StrOpt("retryDelay", d.RetryDelay)
	writeList(to, "fieldViolations", d.FieldViolations, func(v *fieldViolation, to *member.Writer) {
		to.Begin()
		to.StrOpt("field", v.Field)
		to.StrOpt("description", v.Description)
		to.End()
	})
	writeList(to, "violations", d.Violations, func(v *quotaViolation, to *member.Writer) {
		to.Begin()
		to.StrOpt("subject", v.Subject)
		to.StrOpt("description", v.Description)
		to.StrOpt("quotaMetric", v.QuotaMetric)
		to.StrOpt("quotaId", v.QuotaID)
		to.StrOpt("quotaValue", v.QuotaValue)
		to.End()
	})
	to.End()
}
