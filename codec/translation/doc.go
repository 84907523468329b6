// Package translation proves that conversations keep their meaning between any two
// text protocols: what a caller of one says to an upstream of another, and what
// that answers, unary and streamed. It has tests only.
package translation
