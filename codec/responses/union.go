package responses

import (
	"github.com/genway/genway/codec/fault"
	"github.com/genway/genway/codec/member"
	"github.com/go-json-experiment/json/jsontext"
)

// textOrList is a member that is a string or an array.
type textOrList struct {
	kind jsontext.Kind // 0 when absent or null
	text string
	list []jsontext.Value
}

func (t *textOrList) UnmarshalJSONFrom(d *jsontext.Decoder) error {
	*t = textOrList{}
	switch d.PeekKind() {
	case 'n':
		return d.SkipValue()
	case '"':
		token, err := d.ReadToken()
		if err != nil {
			return err
		}
		t.kind, t.text = '"', token.String()
		return nil
	case '[':
		var err error
		t.kind = '['
		t.list, err = member.ReadRaws(d)
		return err
	}
	if err := d.SkipValue(); err != nil {
		return err
	}
	return fault.Invalid("", "expected a string or an array")
}

// ReadJSON implements member.ValueReader.
func (t *textOrList) ReadJSON(r *member.Reader) bool {
	switch r.Kind() {
	case '"':
		t.kind = '"'
		return r.Text(&t.text)
	case '[':
		t.kind = '['
		return r.Raws(&t.list)
	}
	return r.Null()
}

// typeOf reads the type member of an object that is JSON; "" when there is none.
func typeOf(raw jsontext.Value, place member.Place) (string, error) {
	if raw.Kind() != '{' {
		return "", fault.Invalid(place.String(), "%s: expected an object", place)
	}
	value := jsontext.Value(member.Value(raw, "type"))
	switch value.Kind() {
	case 0, 'n':
		return "", nil
	case '"':
		return member.Raw(value).Word(types), nil
	}
	path := place.Join("type")
	return "", fault.Invalid(path, "%s: expected a string", path)
}

// types are those of most items, parts and tools.
var types = []string{
	typeMessage, typeInputText, typeOutputText, typeFunctionCall, typeFunctionOutput, typeReasoning, typeFunction, typeInputImage,
	typeCustomCall, typeCustomOutput, typeCustom, typeImageCall,
}
