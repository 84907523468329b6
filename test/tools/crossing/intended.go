package main

import "strings"

// intended are departures from the SDKs' types that are meant, with the reason: the
// pattern is "what -> protocol path: misfit".
var intended = map[string]string{
	"request -> chat $.messages[].reasoning_content: is unknown": "engines that reason want it back (cases R5, R8); others ignore it",
	"agent -> generatecontent $.store: is unknown":               "a member of the API that the SDK's types lack (ai.google.dev/gemini-api/docs/logs-datasets)",
	"sdk -> generatecontent $.store: is unknown":                 "a member of the API that the SDK's types lack (ai.google.dev/gemini-api/docs/logs-datasets)",
	"answer -> messages $.content[].signature: is missing":       "no signature is made up for a caller (case R4)",
	"stream -> messages $.content_block.signature: is missing":   "no signature is made up for a caller (case R4)",
}

// intends reports whether a misfit is meant.
func (r *row) intends(m misfit) bool {
	_, ok := intended[strings.Join([]string{r.what, "->", r.to, m.String()}, " ")]
	return ok
}
