package capture

import "io"

// tee adds to a body what is read.
type tee struct {
	from    io.Reader
	capture *Capture
	to      *collected
}

func (t *tee) Read(p []byte) (int, error) {
	n, err := t.from.Read(p)
	if n > 0 {
		t.capture.mu.Lock()
		t.capture.write(t.to, p[:n])
		t.capture.mu.Unlock()
	}
	return n, err
}
