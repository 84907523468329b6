package generatecontent

import (
	"github.com/genway/genway/codec"
	"github.com/genway/genway/codec/member"
	"github.com/genway/genway/codec/passthrough"
	edgev1 "github.com/genway/genway/gen/genway/edge/v1"
	genwayv1 "github.com/genway/genway/gen/genway/v1"
)

var heads = passthrough.Text{
	Look:     member.Look{Sign: sign},
	Request:  requestHead,
	Response: responseHead,
}

// sign knows seals.
func sign(value []byte) member.Signs {
	if codec.MaySeal(value) {
		return member.Foreign
	}
	return 0
}

// BodyStatistics implements codec.HeadDecoder.
func (Codec) BodyStatistics(body []byte) *edgev1.BodyStatistics {
	return heads.BodyStatistics(body)
}

// DecodeRequestHead implements codec.HeadDecoder.
func (Codec) DecodeRequestHead(body []byte) (*codec.Request, bool) { return heads.DecodeRequest(body) }

// DecodeResponseHead implements codec.HeadDecoder.
func (Codec) DecodeResponseHead(body []byte) (*genwayv1.GenerateTextResponse, bool) {
	return heads.DecodeResponse(body)
}

// requestHead decodes the light members of a request.
func requestHead(index *member.TopIndex) (*codec.Request, bool) {
	var w request
	var ok bool
	if index.LightHas('_', heavyOfRequest) {
		w, ok = anySpelling(index)
	} else {
		_, ok = w.readHead(index)
	}
	if !ok {
		return nil, false
	}
	req := &genwayv1.GenerateTextRequest{}
	if w.open(req, "") != nil || w.close(req, "") != nil {
		return nil, false
	}
	return &codec.Request{GenerateTextRequest: req}, true
}

// anySpelling reads the light members of a request whose names may be in another spelling. The
// library needs the struct on the heap, which requestHead does not.
func anySpelling(index *member.TopIndex) (request, bool) {
	var w request
	light, ok := index.Lightened(heavyBySpelling)
	if !ok || member.Decode(camelCase(light), &w) != nil {
		return w, false
	}
	return w, true
}

// heavyBySpelling are the heavy members in all spellings.
var heavyBySpelling = append([]string{}, append(heavyOfRequest, "system_instruction")...)

// responseHead decodes the light members of an answer.
func responseHead(index *member.TopIndex) (*genwayv1.GenerateTextResponse, bool) {
	var w response
	if _, ok := w.readHead(index); !ok || present(w.Error) {
		return nil, false
	}
	resp, err := w.canonical()
	return resp, err == nil
}
