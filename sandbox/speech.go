package sandbox

import (
	"encoding/binary"
	"math"
	"slices"
	"strconv"

	"github.com/genway/genway/codec/fault"
	genwayv1 "github.com/genway/genway/gen/genway/v1"
	"github.com/genway/genway/internal/tokens"
	"github.com/genway/genway/internal/tokens/content"
)

// The kinds of output of a text model of the sandbox.
const (
	modalityText  = "text"
	modalityAudio = "audio"
	modalityImage = "image"
)

// Containers of speech.
const (
	formatWAV = "wav"
	formatPCM = "pcm16"
)

// checkOutput refuses kinds and containers of output the sandbox does not make.
func checkOutput(req *genwayv1.GenerateTextRequest) error {
	for _, m := range req.GetModalities() {
		if m != modalityText && m != modalityAudio && m != modalityImage {
			return fault.Unsupported("modalities", "the sandbox gives text, audio and image, not %s", clip(m, 60))
		}
	}
	format := req.GetAudioOutput().GetFormat()
	if wants(req, modalityAudio) && format != "" && format != formatWAV && format != formatPCM {
		return fault.Unsupported("audio_output.format", "the sandbox speaks in %s and %s, not %s", formatWAV, formatPCM, clip(format, 60))
	}
	return nil
}

func wants(req *genwayv1.GenerateTextRequest, modality string) bool {
	return slices.Contains(req.GetModalities(), modality)
}

// express puts a text into the forms the request wants: in words, or as a tone with the
// text as its transcript, and beside it a drawing of the prompt.
func (a *answer) express(c *genwayv1.Candidate, text string) error {
	if n := a.model.amount.count; n > 0 {
		text = lengthen(text, n)
	}
	if wants(a.req, modalityAudio) {
		c.Parts = append(c.Parts, a.speak(text))
	} else {
		c.Parts = append(c.Parts, textPart(text))
	}
	if !wants(a.req, modalityImage) {
		return nil
	}
	part, err := sketch(a.conversation.prompt(), uint64(a.req.GetSampling().GetSeed())+uint64(c.Index))
	if err != nil {
		return err
	}
	c.Parts = append(c.Parts, part)
	return nil
}

func (a *answer) speak(text string) *genwayv1.Part {
	pcm := tone(text)
	m := &genwayv1.Media{MimeType: "audio/wav", Transcript: text, Source: &genwayv1.Media_Data{Data: wavFile(pcm)}}
	if a.req.GetAudioOutput().GetFormat() == formatPCM {
		m.MimeType, m.Source = "audio/pcm", &genwayv1.Media_Data{Data: pcm}
	}
	p := &genwayv1.Part{Kind: &genwayv1.Part_Audio{Audio: m}}
	if a.traits.audioExpires {
		until := strconv.FormatInt(a.resp.GetCreateTime().GetSeconds()+audioSeconds, 10)
		p.NativeFields = []*genwayv1.NativeField{{Protocol: a.req.GetWire().GetProtocol(), Name: "expires_at", Json: []byte(until)}}
	}
	return p
}

// audioSeconds is for how long an answer states that its audio is kept.
const audioSeconds = 3600

// outputDetails breaks the output down once it is not only text. Thinking counts as
// text.
func (a *answer) outputDetails(u *genwayv1.Usage) {
	var audio, image int64
	for _, c := range a.resp.Candidates {
		for _, p := range c.Parts {
			if p.GetAudio() != nil {
				audio += int64(content.Part(p) - tokens.Count(p.GetAudio().GetTranscript()))
			}
			if p.GetImage() != nil {
				image += int64(content.Part(p))
			}
		}
	}
	shows := a.traits.breakdown
	if audio+image > 0 && shows.all {
		u.OutputTextTokens = new(u.OutputTokens - audio - image)
	}
	if audio > 0 && shows.audio {
		u.OutputAudioTokens = &audio
	}
	if image > 0 && shows.all {
		u.OutputImageTokens = &image
	}
}

// Speech of the sandbox is a tone: 16 bit PCM, one channel.
const (
	toneRate   = 24_000 // samples a second, as in pcm16 of the vendors
	toneHertz  = 440
	tonePeak   = 8_000 // of 32,767: not loud
	toneMillis = 40    // for each token of the text
	minTone    = 200   // milliseconds
	maxTone    = 4_000
)

// tone returns the samples that take the place of a spoken text.
func tone(text string) []byte {
	millis := min(max(tokens.Count(text)*toneMillis, minTone), maxTone)
	n := toneRate * millis / 1000
	pcm := make([]byte, 0, 2*n)
	for i := range n {
		sample := tonePeak * math.Sin(2*math.Pi*toneHertz*float64(i)/toneRate)
		pcm = binary.LittleEndian.AppendUint16(pcm, uint16(int16(sample)))
	}
	return pcm
}

// wavFile puts a header before samples (RIFF WAVE, format 1).
func wavFile(pcm []byte) []byte {
	const header, format = 36, 16
	b := append(make([]byte, 0, header+8+len(pcm)), "RIFF"...)
	b = binary.LittleEndian.AppendUint32(b, uint32(header+len(pcm)))
	b = append(b, "WAVEfmt "...)
	b = binary.LittleEndian.AppendUint32(b, format)
	b = binary.LittleEndian.AppendUint16(b, 1) // PCM
	b = binary.LittleEndian.AppendUint16(b, 1) // channels
	b = binary.LittleEndian.AppendUint32(b, toneRate)
	b = binary.LittleEndian.AppendUint32(b, 2*toneRate)
	b = binary.LittleEndian.AppendUint16(b, 2)  // bytes of a frame
	b = binary.LittleEndian.AppendUint16(b, 16) // bits of a sample
	b = append(b, "data"...)
	b = binary.LittleEndian.AppendUint32(b, uint32(len(pcm)))
	return append(b, pcm...)
}
