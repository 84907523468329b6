package media

import (
	"bytes"
	"strings"
)

// pages estimates the pages of a PDF by counting the objects of type Page that are
// written in plain (ISO 32000-1, 7.7.3.3). Where there are none, since object streams
// compress them, it takes the largest /Count of a page tree in plain. Nothing is
// parsed or decompressed, so a count of an object that is no longer in use is
// included and a fully compressed file has none.
func pages(data []byte) int {
	if n := pageObjects(data); n > 0 {
		return n
	}
	return largestCount(data)
}

func pageObjects(data []byte) int {
	n := 0
	for {
		_, rest, found := bytes.Cut(data, []byte("/Type"))
		if !found {
			return n
		}
		data = rest
		name, ok := bytes.CutPrefix(bytes.TrimLeft(rest[:min(len(rest), 64)], pdfSpace), []byte("/Page"))
		if ok && (len(name) == 0 || !regular(name[0])) {
			n++
		}
	}
}

// maxPages is more than any real document has; larger counts are not believed.
const maxPages = 1_000_000

func largestCount(data []byte) int {
	largest := 0
	for {
		_, rest, found := bytes.Cut(data, []byte("/Count"))
		if !found {
			return largest
		}
		data = rest
		n := 0
		for _, c := range bytes.TrimLeft(rest[:min(len(rest), 64)], pdfSpace) {
			if c < '0' || c > '9' || n > maxPages {
				break
			}
			n = n*10 + int(c-'0')
		}
		if n <= maxPages {
			largest = max(largest, n)
		}
	}
}

const pdfSpace = "\x00\t\n\f\r "

// regular reports whether c continues a PDF name (ISO 32000-1, 7.2.2).
func regular(c byte) bool {
	return !strings.ContainsRune(pdfSpace+"()<>[]{}/%", rune(c))
}
