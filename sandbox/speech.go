package sandbox

import (
	"encoding/binary"
	"math"

	"github.com/genway/genway/internal/tokens"
)

// Speech of the sandbox is a tone: 16 bit PCM, one channel.
const (
	toneRate   = 24_000 // samples a second, as in pcm16 of the vendors
	toneHertz  = 440
	tonePeak   = 8_000 // of 32,767: not loud
	toneMillis = 40    // for each token of the text
	minTone    = 200   // milliseconds
	maxTone    = 4_000
)

// tone returns the samples that stand for a spoken text.
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
