package member

// StandIn is what a member is replaced by in a head: the text of a small value of the
// same sort, or nothing to leave the member out.
type StandIn struct{ Name, Value string }

// Head gives a body, a JSON object, without its weight: each member that a stand-in is
// named for has that instead of its value. The first stand-in is of the member that
// makes the body what it is and must be there, with something in it. All of the body
// is checked to be JSON without duplicate names.
//
// False says that the body cannot be told apart like this, and must be decoded whole:
// it is wrong, or only uncommon.
func Head(body []byte, standIns []StandIn) ([]byte, bool) {
	start := space(body, 0)
	if start >= len(body) || body[start] != '{' {
		return nil, false
	}
	head, copied, found := make([]byte, 0, 512), start, false
	light := true
	end, ok := scanObject(body, start, 0, func(name, value span) {
		for i, s := range standIns {
			if string(body[name.from:name.to]) != s.Name {
				continue
			}
			if i == 0 {
				found = holds(body[value.from:value.to])
			}
			if s.Value == "" {
				s.Value = "null"
			}
			head = append(head, body[copied:value.from]...)
			head = append(head, s.Value...)
			copied = value.to
			return
		}
		light = light && value.to-value.from <= maxLight
	})
	if !ok || !found || !light || space(body, end) != len(body) {
		return nil, false
	}
	return append(head, body[copied:end]...), true
}

// maxLight bounds a member without a stand-in.
const maxLight = 4 << 10

// holds reports whether a value is a string or an array that is not empty.
func holds(value []byte) bool {
	i := space(value, 1)
	return value[0] == '[' && value[i] != ']' || value[0] == '"' && len(value) > 2
}
