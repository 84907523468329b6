package generatecontent

import (
	"strings"

	genwayv1 "github.com/genway/genway/gen/genway/v1"
)

// continues reports whether a part is more of the sound of the one ahead of it. The vendor's models
// of speech send it in pieces, each a part of its own. Only samples without a container
// can be joined.
func continues(last, p *genwayv1.Part) bool {
	a, b := last.GetAudio(), p.GetAudio()
	if a == nil || b == nil || a.MediaType != b.MediaType || len(last.NativeFields)+len(p.NativeFields) > 0 || last.ThoughtSignature != nil || p.ThoughtSignature != nil {
		return false
	}
	kind := strings.ToLower(a.MediaType)
	if !strings.HasPrefix(kind, "audio/l16") && !strings.HasPrefix(kind, "audio/pcm") {
		return false
	}
	return len(a.GetData()) > 0 && len(b.GetData()) > 0 && a.Filename == b.Filename && a.Transcript == "" && b.Transcript == ""
}
