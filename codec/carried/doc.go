// Package carried tests what each protocol carries of the typed contract. Its tests walk the
// descriptors of genway.v1, set each field of a request or an answer by itself, encode that for
// each protocol and demand that the field is in the body, named in the losses, or refused by
// name. What is in a body must be read from it, too. docs/reference/carried.md is the table of what they find.
package carried
