package member

// Walk reads a small body in one pass: who walks says of each member what it is to be
// read as. All of it is checked as an Outline checks. The methods give false where the
// body is wrong, uncommon, or of another type; it is the decoder's then.
type Walk struct {
	scanner
	i, depth int
}

// Over begins a walk.
func Over(body []byte) Walk {
	return Walk{scanner: scanner{b: body}, i: space(body, 0)}
}

// Done reports whether nothing is left.
func (w *Walk) Done() bool { return space(w.b, w.i) == len(w.b) }

// Members tells take of each member of the object that is next. take reads its value.
func (w *Walk) Members(take func(name []byte) bool) bool {
	if w.i >= len(w.b) || w.b[w.i] != '{' || w.depth >= maxScanDepth {
		return false
	}
	w.depth++
	defer func() { w.depth-- }()
	i := space(w.b, w.i+1)
	if i < len(w.b) && w.b[i] == '}' {
		w.i = i + 1
		return true
	}
	seen := w.names.open()
	for {
		name, end, ok := scanName(w.b, i)
		if !ok || !w.names.add(w.b, &seen, name) {
			return false
		}
		if i = space(w.b, end); i >= len(w.b) || w.b[i] != ':' {
			return false
		}
		w.i = space(w.b, i+1)
		if !take(w.b[name.from:name.to]) {
			return false
		}
		i = space(w.b, w.i)
		switch {
		case i >= len(w.b):
			return false
		case w.b[i] == '}':
			w.names.close(seen)
			w.i = i + 1
			return true
		case w.b[i] != ',':
			return false
		}
		i = space(w.b, i+1)
	}
}

// Elements tells take of each element of the array that is next. take reads it.
func (w *Walk) Elements(take func() bool) bool {
	if w.i >= len(w.b) || w.b[w.i] != '[' || w.depth >= maxScanDepth {
		return false
	}
	w.depth++
	defer func() { w.depth-- }()
	w.i = space(w.b, w.i+1)
	if w.i < len(w.b) && w.b[w.i] == ']' {
		w.i++
		return true
	}
	for {
		if !take() {
			return false
		}
		i := space(w.b, w.i)
		switch {
		case i >= len(w.b):
			return false
		case w.b[i] == ']':
			w.i = i + 1
			return true
		case w.b[i] != ',':
			return false
		}
		w.i = space(w.b, i+1)
	}
}

// Value gives the value that is next.
func (w *Walk) Value() (Raw, bool) {
	end, ok := w.value(w.i, w.depth)
	if !ok {
		return nil, false
	}
	v := Raw(w.b[w.i:end])
	w.i = end
	return v, true
}

// Null reports whether null is next, and reads it.
func (w *Walk) Null() bool {
	end, ok := word(w.b, w.i, "null")
	if ok {
		w.i = end
	}
	return ok
}

// Skip reads a value that says nothing.
func (w *Walk) Skip() bool {
	_, ok := w.Value()
	return ok
}

// Text reads a string as Raw.Text does.
func (w *Walk) Text(to *string) bool {
	v, ok := w.Value()
	return ok && v.Text(to)
}

// Like reads a string as Raw.Like does.
func (w *Walk) Like(to *string, like string) bool {
	v, ok := w.Value()
	return ok && v.Like(to, like)
}
