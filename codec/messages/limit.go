package messages

import (
	"regexp"
	"strconv"
	"strings"
)

// DefaultMaxTokens is what MaxTokens gives for a model of which nothing is known. All
// models that are served by this protocol today take it.
const DefaultMaxTokens = 8192

// familyMaxTokens is what it returns for a model of the vendor whose name has no version:
// the least of those since version 4.
const familyMaxTokens = 32000

// maxima are the most tokens that the vendor's models produce in one answer, by the first
// version with that maximum (docs.claude.com, models overview). Opus had less than its
// siblings in 4.0 and 4.1.
var maxima = []struct {
	from       version
	most, opus int64
}{
	{version{4, 6}, 128000, 128000},
	{version{4, 2}, 64000, 64000},
	{version{4, 0}, 64000, 32000},
	{version{3, 6}, 64000, 64000},
	{version{3, 5}, 8192, 8192},
	{version{0, 0}, 4096, 4096},
}

type version struct{ major, minor int }

func (v version) before(other version) bool {
	return v.major < other.major || v.major == other.major && v.minor < other.minor
}

// versioned finds the version in a name: claude-opus-4-1-20250805, claude-3-5-haiku,
// anthropic.claude-sonnet-4-20250514-v1:0, claude-sonnet-4.5, claude-opus-4@20250514. A
// date is no minor version.
var versioned = regexp.MustCompile(`claude-(?:[a-z]+-)?([0-9]{1,2})(?:[-.]([0-9]{1,2}))?(?:[^0-9]|$)`)

// MaxTokens returns the max_tokens of a request whose caller names no limit, which this
// protocol requires (case F17): the most that the model takes, as far as that is known by
// its name. A target's configuration can say another figure (default: max_output_tokens).
func MaxTokens(model string) int64 {
	model = strings.ToLower(model)
	m := versioned.FindStringSubmatch(model)
	if m == nil {
		if strings.Contains(model, "claude-") {
			return familyMaxTokens
		}
		return DefaultMaxTokens
	}
	var v version
	v.major, _ = strconv.Atoi(m[1])
	v.minor, _ = strconv.Atoi(m[2]) // absent is 0
	for _, known := range maxima {
		if v.before(known.from) {
			continue
		}
		if strings.Contains(model, "opus") {
			return known.opus
		}
		return known.most
	}
	return DefaultMaxTokens
}
