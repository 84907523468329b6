package sandbox

import genwayv1 "github.com/genway/genway/gen/genway/v1"

// traits are how the answers of a protocol's vendor differ from the others' where the
// contract has one field for all. The sandbox answers as the vendor of its caller's protocol
// does.
type traits struct {
	// fingerprint is the system fingerprint of answers.
	fingerprint string
	// audioExpires reports that audio says until when it can be referred to (expires_at).
	audioExpires bool
	// signsText reports that texts and tool calls have a thought signature.
	signsText bool
	// hidesThoughts reports that thinking is left out unless the caller asks for it.
	hidesThoughts bool
	// encryptsThoughts reports that thinking is reported only as a summary, with its encrypted
	// form where the caller includes it.
	encryptsThoughts bool
	// breakdown says which modalities a usage report distinguishes.
	breakdown modalities
}

// modalities are those that a usage report counts apart.
type modalities struct{ audio, all bool }

// traitsOf returns the traits of a protocol. A direct caller gets all details.
func traitsOf(protocol genwayv1.Protocol) traits {
	switch protocol {
	case genwayv1.Protocol_PROTOCOL_CHAT_COMPLETIONS:
		return traits{fingerprint: "fp_sandbox", audioExpires: true, breakdown: modalities{audio: true}}
	case genwayv1.Protocol_PROTOCOL_RESPONSES:
		return traits{encryptsThoughts: true}
	case genwayv1.Protocol_PROTOCOL_GENERATE_CONTENT:
		return traits{signsText: true, hidesThoughts: true, breakdown: modalities{audio: true, all: true}}
	case genwayv1.Protocol_PROTOCOL_UNSPECIFIED:
		return traits{signsText: true, breakdown: modalities{audio: true, all: true}}
	case genwayv1.Protocol_PROTOCOL_MESSAGES:
		return traits{}
	default:
		return traits{breakdown: modalities{audio: true, all: true}}
	}
}
