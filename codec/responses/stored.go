package responses

import (
	"github.com/genway/genway/codec/fault"
	"github.com/genway/genway/codec/member"
	"github.com/genway/genway/codec/stored"
	genwayv1 "github.com/genway/genway/gen/genway/v1"
	"github.com/go-json-experiment/json/jsontext"
)

// syntheticResponse begins the identifier of a response that Genway stores.
const syntheticResponse = prefixResponse + syntheticMark

var form = stored.Form{
	Protocol: protocol, Noun: "Response", Prefix: syntheticResponse, Previous: memberPrevious, Output: "output", Elements: inputItems,
	Queued: statusQueued, InProgress: statusInProgress, Failed: statusFailed, Cancelled: statusCancelled,
	Failure:          func(err *fault.Error) member.Member { return member.Member{Name: "error", Value: failedError(err)} },
	PreviousNotFound: previousNotFound, Items: itemsOf,
}

// Stored implements stored.Codec.
func (Codec) Stored() *stored.Form { return &form }

const memberPrevious = "previous_response_id"

// inputItems returns the items of an input. A text is a message of the user.
func inputItems(input jsontext.Value) (all []jsontext.Value) {
	switch input.Kind() {
	case '"':
		return []jsontext.Value{append(append(jsontext.Value(`{"type":"message","role":"user","content":`), input...), '}')}
	case '[':
		for _, item := range member.Elements(input) {
			all = append(all, item)
		}
	}
	return all
}

// InputItems returns the items of a turn's input as the vendor lists them (SDK: ResponseItem): each has a type and an
// identifier, and the content of a message is a list.
func InputItems(t *stored.Turn, response string) []*genwayv1.OpaquePart {
	var listed []*genwayv1.OpaquePart
	for i, raw := range member.Elements(t.Input) {
		kind := unquote(member.Value(raw, "type"))
		var set []member.Member
		if kind == "" && referenced(raw) != "" {
			kind = typeReference
		}
		if kind == "" {
			kind = typeMessage
		}
		if unquote(member.Value(raw, "type")) == "" {
			set = append(set, member.Member{Name: "type", Value: member.AppendQuote(nil, kind)})
		}
		if unquote(member.Value(raw, "id")) == "" {
			set = append(set, member.Member{Name: "id", Value: member.AppendQuote(nil, inputID(kind, response, i))})
		}
		if content := jsontext.Value(member.Value(raw, "content")); kind == typeMessage && content.Kind() == '"' {
			part, extra := typeInputText, ""
			if unquote(member.Value(raw, "role")) == "assistant" {
				part, extra = typeOutputText, `,"annotations":[]`
			}
			list := append(append([]byte(`[{"type":"`+part+`","text":`), content...), extra...)
			set = append(set, member.Member{Name: "content", Value: append(list, "}]"...)})
		}
		if kind == typeMessage && member.Value(raw, "status") == nil {
			set = append(set, member.Member{Name: "status", Value: jsontext.Value(`"completed"`)})
		}
		item := []byte(raw)
		if patched, err := member.Patch(raw, set...); err == nil {
			item = patched
		}
		listed = append(listed, &genwayv1.OpaquePart{Protocol: protocol, Type: kind, Json: item})
	}
	return listed
}

// inputID names an item of an input that has no identifier: always the same for the same place.
func inputID(kind, response string, index int) string {
	prefix := "item_"
	switch kind {
	case typeMessage:
		prefix = prefixMessage
	case typeReasoning:
		prefix = prefixReasoning
	case typeFunctionCall:
		prefix = prefixFunction
	case typeCustomCall:
		prefix = prefixCustom
	case typeFunctionOutput, typeCustomOutput:
		prefix = prefixOutput
	}
	return syntheticID(prefix, response+"/input", 0, index)
}

// InputPage reads a page of the items of an input, as an upstream lists them.
func InputPage(body []byte) *genwayv1.ListInputItemsResponse {
	page := &genwayv1.ListInputItemsResponse{}
	for _, raw := range member.Elements(member.Value(body, "data")) {
		page.Items = append(page.Items, &genwayv1.OpaquePart{Protocol: protocol, Type: unquote(member.Value(raw, "type")), Json: raw})
	}
	if jsontext.Value(member.Value(body, "has_more")).Kind() == 't' {
		page.NextPageToken = unquote(member.Value(body, "last_id"))
	}
	return page
}

// ItemID returns the identifier of an item that InputItems has returned.
func ItemID(item *genwayv1.OpaquePart) string { return unquote(member.Value(item.GetJson(), "id")) }

// EncodeStored implements codec.Storer.
func (c Codec) EncodeStored(resp *genwayv1.GetResponseResponse) ([]byte, error) {
	return form.Encode(resp, c)
}

// EncodeDeleted implements codec.Storer.
func (Codec) EncodeDeleted(resp *genwayv1.DeleteResponseResponse) ([]byte, error) {
	w := member.NewWriter(128)
	w.Begin()
	w.Str("id", resp.GetId())
	w.Str("object", "response")
	w.Bool("deleted", true)
	w.End()
	return w.Finish()
}

// EncodeInputItems implements codec.InputLister (SDK: ResponseItemList).
func (Codec) EncodeInputItems(resp *genwayv1.ListInputItemsResponse) ([]byte, error) {
	items := resp.GetItems()
	w := member.NewWriter(512)
	w.Begin()
	w.Str("object", "list")
	w.List("data")
	for _, item := range items {
		w.Value(item.GetJson())
	}
	w.EndList()
	if len(items) == 0 {
		w.Null("first_id")
		w.Null("last_id")
	} else {
		w.Str("first_id", ItemID(items[0]))
		w.Str("last_id", ItemID(items[len(items)-1]))
	}
	w.Bool("has_more", resp.GetNextPageToken() != "")
	w.End()
	return w.Finish()
}
