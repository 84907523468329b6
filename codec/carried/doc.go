// Package carried tests what each protocol carries of the typed contract. Its test walks the
// descriptors of genway.v1, sets each field of a text request by itself, encodes the request for
// each protocol and demands that the field is in the body, named in the losses, or refused by
// name. docs/carried.md is the table of what it finds.
package carried
