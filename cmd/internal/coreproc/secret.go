package coreproc

import (
	"log/slog"

	"github.com/genway/genway/core/config"
	"github.com/genway/genway/internal/stamp"
)

// secret is a file with an upstream's key, which is read again when it changes. It is used
// by one goroutine at a time.
type secret struct {
	upstream, file string
	// key is what the upstream is asked with, use has it asked with another.
	key string
	use func(key string)
	// seen is the stamp of the file when it was read last, good or bad, and looked the stamp
	// when it was looked at last.
	seen, looked string
}

// refresh reads the file if it has changed, and has stayed the same since the look before:
// half a key reads like a key. It reports whether to look again soon. A file that cannot be
// read, or that holds no key, changes nothing; the log says so once for each state of the file.
func (s *secret) refresh(log *slog.Logger) (again bool) {
	now := stamp.Of(s.file) // taken first: what changes while it is read is read again
	settled := now == s.looked
	s.looked = now
	if now == s.seen || !settled {
		return now != s.seen
	}
	s.seen = now
	key, err := config.ReadSecret(s.file)
	switch {
	case err != nil:
		log.Error("the upstream's key cannot be read again; the old one stays", "upstream", s.upstream, "error", err)
	case key != s.key:
		s.key = key
		s.use(key)
		log.Info("the upstream's key was read again", "upstream", s.upstream, "file", s.file)
	}
	return false
}
