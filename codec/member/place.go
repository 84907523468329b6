package member

// Place is where a value stands. It is spelled when somebody asks, and only errors do.
type Place struct {
	// Path is that of the value, or of the list it is an element of.
	Path string
	// Element is its number in the list, plus one; 0 for no list.
	Element int
}

// String spells the path.
func (p Place) String() string {
	if p.Element == 0 {
		return p.Path
	}
	return Index(p.Path, p.Element-1)
}

// Join spells the path of a member.
func (p Place) Join(path string) string { return Join(p.String(), path) }
