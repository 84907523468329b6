package main

import "strings"

// intended are departures from the SDKs' types that are meant, with the reason: the
// pattern is "what -> protocol path: misfit".
var intended = map[string]string{
	"request -> chat $.messages[].reasoning_content: is unknown":                                "engines that reason want it back (cases R5, R8); others ignore it",
	"agent -> generatecontent $.store: is unknown":                                              "a member of the API that the SDK's types lack (ai.google.dev/gemini-api/docs/logs-datasets)",
	"sdk -> generatecontent $.store: is unknown":                                                "a member of the API that the SDK's types lack (ai.google.dev/gemini-api/docs/logs-datasets)",
	"request -> generatecontent $: the SDK cannot read it: illegal base64 data at input byte 4": "the vendor's value in place of a signature is no base64, as the type of the SDK's is (case R4)",
	"answer -> messages $.content[].signature: is missing":                                      "no signature is made up for a caller (case R4)",
	"stream -> messages $.content_block.signature: is missing":                                  "no signature is made up for a caller (case R4)",
}

// intends reports whether a misfit is meant.
func (r *row) intends(m misfit) bool {
	_, ok := intended[strings.Join([]string{r.what, "->", r.to, m.String()}, " ")]
	return ok
}
