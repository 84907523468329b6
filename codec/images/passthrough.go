package images

import (
	"github.com/genway/genway/codec/member"
	"github.com/genway/genway/codec/passthrough"
	genwayv1 "github.com/genway/genway/gen/genway/v1"
	"github.com/go-json-experiment/json/jsontext"
)

// DecodeResponseHead reads an answer without its images, of which it returns the number.
// All of it is checked to be JSON. False says that it must be decoded whole.
func (c Codec) DecodeResponseHead(body []byte) (*genwayv1.GenerateImageResponse, bool) {
	return passthrough.Response(body, responseHead)
}

func responseHead(index *member.TopIndex) (*genwayv1.GenerateImageResponse, bool) {
	var w wireResponse
	if _, ok := w.readHead(index); !ok {
		return nil, false
	}
	images := index.Elements("data")
	if images == 0 {
		return nil, false // it may be an error
	}
	resp := w.settings()
	resp.Images = make([]*genwayv1.GeneratedImage, images)
	for i := range resp.Images {
		resp.Images[i] = &genwayv1.GeneratedImage{}
	}
	return resp, true
}

// settings are what an answer says beside its images.
func (w *wireResponse) settings() *genwayv1.GenerateImageResponse {
	natives := member.Natives(protocol, w.Extra, nil)
	return &genwayv1.GenerateImageResponse{
		CreateTime:   member.Time(w.Created),
		Background:   w.Background,
		OutputFormat: w.OutputFormat,
		Quality:      w.Quality,
		Size:         w.Size,
		Usage:        withSVG(w.Usage.canonical(), member.Native(protocol, natives, svgUsage)),
		NativeFields: natives,
	}
}

// watched is what is read of an answer that passes through unchanged.
type watched struct {
	Data []struct {
		Size string `json:"size"`
	} `json:"data"`
	Quality  string         `json:"quality"`
	Size     string         `json:"size"`
	Usage    *wireUsage     `json:"usage"`
	SvgUsage jsontext.Value `json:"svg_usage"`
	Error    jsontext.Value `json:"error"`
}

// WatchResponse reads of an answer that passes through unchanged what fits: its usage and the
// number of its images. False says that it is a failure, or no answer with images.
func (Codec) WatchResponse(body []byte) (*genwayv1.GenerateImageResponse, bool) {
	var w watched
	member.Fit(body, &w)
	if w.Error.Kind() == '{' || w.Data == nil {
		return nil, false
	}
	resp := &genwayv1.GenerateImageResponse{Quality: w.Quality, Size: w.Size, Usage: withSVG(w.Usage.canonical(), w.SvgUsage), Images: make([]*genwayv1.GeneratedImage, len(w.Data))}
	for i := range resp.Images {
		resp.Images[i] = &genwayv1.GeneratedImage{Size: w.Data[i].Size}
	}
	return resp, true
}
