// Package kinds has a struct with a member of each type and option that wiregen knows, for the
// tests of the generated code.
package kinds

import (
	"github.com/genway/genway/codec/member"
	"github.com/go-json-experiment/json/jsontext"
)

// Kinds has members of all types.
//
//wire:read,write
type Kinds struct {
	String  string            `json:"string" wire:"always"`
	PString *string           `json:"pstring" wire:"null"`
	List    []string          `json:"list"`
	Map     map[string]string `json:"map"`
	Bool    bool              `json:"bool"`
	PBool   *bool             `json:"pbool"`
	Int     int               `json:"int"`
	Int32   *int32            `json:"int32"`
	Int64   int64             `json:"int64" wire:"always"`
	Octets  []octet           `json:"octets" wire:"by=writeOctets"`
	Float   float64           `json:"float"`
	PFloat  *float64          `json:"pfloat"`
	Raw     jsontext.Value    `json:"raw" wire:"raw"`
	Raws    []jsontext.Value  `json:"raws" wire:"read"`
	Inner   Inner             `json:"inner" wire:"always"`
	PInner  *Inner            `json:"pinner" wire:"null"`
	Inners  []Inner           `json:"inners" wire:"empty"`
	PInners *[]Inner          `json:"pinners"`
	Rest    jsontext.Value    `json:",embed"`
	hidden  int               //nolint:unused // is no member
}

type octet uint8

// Inner is an object in an object, which may hold others of its type.
type Inner struct {
	A    string  `json:"a"`
	Deep []Inner `json:"deep" wire:"empty"`
}

func (v *Kinds) writeOctets(w *member.Writer, name string) { member.IntsOpt(w, name, v.Octets) }

// Write returns the object as JSON.
func (v *Kinds) Write() ([]byte, error) {
	w := member.NewWriter(256)
	v.write(w)
	return w.Finish()
}
