package codec

import "strings"

// LegibleName returns the name of a tool with what not every protocol takes replaced by _: letters
// and digits of ASCII, _ and - are left, and it begins with neither a digit nor a dash. It
// is never empty.
func LegibleName(name string) string {
	name = strings.Map(func(r rune) rune {
		switch {
		case r >= 'a' && r <= 'z', r >= 'A' && r <= 'Z', r >= '0' && r <= '9', r == '_', r == '-':
			return r
		}
		return '_'
	}, name)
	if name == "" || name[0] == '-' || name[0] >= '0' && name[0] <= '9' {
		name = "_" + name
	}
	return name
}
