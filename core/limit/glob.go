package limit

// glob reports whether name is what pattern describes, in which each * is any run of
// characters. It takes the length of one times the length of the other at worst.
func glob(pattern, name string) bool {
	// rest and from are where to go on when what follows the last * does not fit.
	rest, from, p, n := -1, 0, 0, 0
	for n < len(name) {
		switch {
		case p < len(pattern) && pattern[p] == '*':
			rest, from = p+1, n
			p++
		case p < len(pattern) && pattern[p] == name[n]:
			p++
			n++
		case rest >= 0:
			from++
			p, n = rest, from
		default:
			return false
		}
	}
	for p < len(pattern) && pattern[p] == '*' {
		p++
	}
	return p == len(pattern)
}
