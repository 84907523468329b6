package upstream

import (
	"errors"
	"fmt"
	"net/url"
	"strconv"
	"time"
)

// Settings are what the upstream answers with.
type Settings struct {
	// Latency is how long it waits before it answers.
	Latency time.Duration
	// Gap is the time between two events of a stream. With 0 they follow each other as
	// fast as the reader takes them, a write each.
	Gap time.Duration
	// Pieces is how many pieces of text a stream has; the n-th, counted from 0, is
	// " token" followed by n.
	Pieces int
	// Text is about how many bytes of text a whole answer has.
	Text int
	// Image is how many characters of base64 an image has.
	Image int
	// Slots is how many requests are worked on at once; the others wait for a slot, and
	// each has its own Latency in one. 0 is no bound.
	Slots int
	// Waiting is how many requests may wait for a slot; the others get a 503. 0 is no bound.
	Waiting int
}

// Defaults are the settings of a request that sets none: 1 KB of text, streams of 200
// pieces without a gap, images of 1.5 MB, no latency.
func Defaults() Settings {
	return Settings{Pieces: 200, Text: 1000, Image: 1_500_000}
}

// ControlPath is where settings are changed: GET with the members of [Settings.Query].
const ControlPath = "/control"

// Query returns the settings as a query of ControlPath.
func (s Settings) Query() url.Values {
	return url.Values{
		"latency": {s.Latency.String()},
		"gap":     {s.Gap.String()},
		"pieces":  {strconv.Itoa(s.Pieces)},
		"text":    {strconv.Itoa(s.Text)},
		"image":   {strconv.Itoa(s.Image)},
		"slots":   {strconv.Itoa(s.Slots)},
		"waiting": {strconv.Itoa(s.Waiting)},
	}
}

// With returns the settings changed by a query; what it does not name stays. An unknown
// name, a malformed value and one below zero are errors.
func (s Settings) With(query url.Values) (Settings, error) {
	var problems []error
	for name, values := range query {
		if err := set(&s, name, values[len(values)-1]); err != nil {
			problems = append(problems, fmt.Errorf("%s: %w", name, err))
		}
	}
	return s, errors.Join(problems...)
}

func set(s *Settings, name, value string) (err error) {
	switch name {
	case "latency":
		s.Latency, err = duration(value)
	case "gap":
		s.Gap, err = duration(value)
	case "pieces":
		s.Pieces, err = count(value)
	case "text":
		s.Text, err = count(value)
	case "image":
		s.Image, err = count(value)
	case "slots":
		s.Slots, err = count(value)
	case "waiting":
		s.Waiting, err = count(value)
	default:
		return errors.New("no such setting; there are latency, gap, pieces, text, image, slots and waiting")
	}
	return err
}

func duration(value string) (time.Duration, error) {
	d, err := time.ParseDuration(value)
	if err == nil && d < 0 {
		err = fmt.Errorf("%s is below zero", value)
	}
	return d, err
}

func count(value string) (int, error) {
	n, err := strconv.Atoi(value)
	if err == nil && n < 0 {
		err = fmt.Errorf("%d is below zero", n)
	}
	return n, err
}
