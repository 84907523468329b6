package media

import (
	"encoding/binary"
	"math/bits"
	"time"
)

// maxChunks bounds the walk over a file made of empty chunks.
const maxChunks = 1024

// wav reads the format and the length of a RIFF WAVE file. A data chunk that claims
// more than the file holds (a stream whose length was not known when its header was
// written) lasts as long as the bytes that are there.
func wav(data []byte) (d time.Duration, rate, channels int) {
	const header, chunkHeader, format = 12, 8, 16
	var bytesPerSecond, audio uint64
	rest := data[min(header, len(data)):]
	for range maxChunks {
		if len(rest) < chunkHeader {
			break
		}
		id, size := string(rest[:4]), uint64(binary.LittleEndian.Uint32(rest[4:]))
		rest = rest[chunkHeader:]
		body := rest[:min(size, uint64(len(rest)))]
		if id == "fmt " && len(body) >= format {
			channels = int(binary.LittleEndian.Uint16(body[2:]))
			rate = int(binary.LittleEndian.Uint32(body[4:]))
			bytesPerSecond = uint64(binary.LittleEndian.Uint32(body[8:]))
		}
		if id == "data" {
			audio = uint64(len(body))
			break
		}
		// Chunks begin at even offsets.
		rest = rest[min(size+size%2, uint64(len(rest))):]
	}
	if bytesPerSecond == 0 || rate == 0 || channels == 0 {
		return 0, 0, 0
	}
	seconds, remainder := audio/bytesPerSecond, audio%bytesPerSecond
	high, low := bits.Mul64(remainder, uint64(time.Second))
	nanos, _ := bits.Div64(high, low, bytesPerSecond)
	return time.Duration(seconds)*time.Second + time.Duration(nanos), rate, channels
}
