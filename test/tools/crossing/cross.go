package main

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"reflect"

	"github.com/genway/genway/codec"
	"github.com/genway/genway/codec/fault"
	"github.com/genway/genway/codec/responses"
	"github.com/genway/genway/codec/stored"
	genwayv1 "github.com/genway/genway/gen/genway/v1"
	"google.golang.org/protobuf/proto"
)

// cross carries one exchange between its protocol and another: the request there,
// and the answer, which an upstream of the exchange's protocol gave, to callers of
// the other.
func cross(r *report, x exchange, other string) {
	here, there := protocols[x.Protocol], protocols[other]
	// y is the exchange as the other protocol has it.
	y := exchange{ID: x.ID, Protocol: other, Status: x.Status, Stream: x.Stream}
	var asked *codec.Request
	what := "request"
	if x.Status == 0 {
		what = sourceOf(x)
	}
	asked, y.Request = request(r.row(what, x.Protocol, other), x, here, there)
	switch {
	case x.Status == 0:
	case x.ResponseSSE != "":
		y.ResponseSSE = stream(r.row("stream", x.Protocol, other), x, here, there, asked)
	case x.Status/100 == 2:
		y.Response = answer(r.row("answer", x.Protocol, other), x, here, there, asked)
	default:
		y.Response = failure(r.row("error", x.Protocol, other), x, here, there)
	}
	if other != relayed || y.Request == nil || x.Status != 0 && y.Response == nil && y.ResponseSSE == "" {
		return
	}
	for _, name := range names {
		if name != relayed {
			cross(r, y, name)
		}
	}
}

// request crosses the request as the gateway sends it to an upstream of which only the protocol is known, and returns it
// as a caller of the other protocol would have written it, and that body; nil for a refusal.
func request(r *row, x exchange, here, there protocol) (*codec.Request, []byte) {
	plain := &codec.Request{GenerateTextRequest: &genwayv1.GenerateTextRequest{Model: "m"}, Stream: x.Stream, IncludeUsage: true}
	asked, err := asked(x, here)
	if err != nil {
		r.refused(x, err)
		return plain, nil
	}
	r.judged(x, asked, r.vendors[r.to])
	body, losses, err := r.engines[r.to].asks(asked)
	if err != nil {
		r.refused(x, err)
		return plain, nil
	}
	r.translated(x, losses, judge(there.request, body, false), body)
	if again, err := there.codec.DecodeRequest(body); err == nil {
		plain.GenerateTextRequest = again.GenerateTextRequest
	} else {
		r.misfits(x, []misfit{{"$", "is not read again: " + err.Error(), false}}, body)
	}
	return plain, body
}

// asked is a request as the gateway asks upstreams, which makes responses in the background itself.
func asked(x exchange, here protocol) (*codec.Request, error) {
	body := x.Request
	if stored.InBackground(body) {
		var err error
		if body, err = (responses.Codec{}).Stored().Foreground(body); err != nil {
			return nil, err
		}
	}
	asked, err := here.codec.DecodeRequest(body)
	if err != nil {
		return nil, err
	}
	if asked.Model == "" {
		asked.Model = x.Model()
	}
	asked.Stream, asked.IncludeUsage = x.Stream, x.Stream
	return asked, nil
}

func clone(r *codec.Request) *codec.Request {
	c := *r
	c.GenerateTextRequest = proto.CloneOf(r.GenerateTextRequest)
	return &c
}

// answer crosses a whole answer, and returns what its caller gets; nil for an error.
func answer(r *row, x exchange, here, there protocol, asked *codec.Request) []byte {
	resp, err := here.codec.DecodeResponse(x.Response)
	if err != nil {
		r.ended(x, err, there, nil, nil)
		return nil
	}
	var losses codec.Losses
	body, err := there.codec.EncodeResponse(resp, codec.Answer{Request: asked, Losses: &losses})
	if err != nil {
		r.misfits(x, []misfit{{"$", err.Error(), false}}, x.Response)
		return nil
	}
	r.translated(x, losses.List(), judge(there.answer, body, true), body)
	return body
}

// stream crosses a streamed answer, and returns the events of its caller; "" for an error.
func stream(r *row, x exchange, here, there protocol, asked *codec.Request) string {
	frames := framesOf(x)
	var losses codec.Losses
	decoder := here.codec.NewStreamDecoder()
	encoder := there.codec.NewStreamEncoder(codec.Answer{Request: asked, Losses: &losses})
	var all []misfit
	var sent, framed bytes.Buffer
	pass := func(out []codec.Frame) {
		for _, f := range out {
			fmt.Fprintf(&sent, "%s\n", f.Data)
			fmt.Fprintf(&framed, "event: %s\ndata: %s\n\n", f.Event, f.Data)
			if string(f.Data) != "[DONE]" {
				all = append(all, judge(there.event, f.Data, true)...)
			}
		}
	}
	end := func(events []*genwayv1.StreamGenerateTextResponse, failed error) error {
		for _, ev := range events {
			out, err := encoder.Encode(ev)
			if err != nil {
				all = append(all, misfit{"$", err.Error(), false})
			}
			pass(out)
		}
		return failed
	}
	var err error
	for _, f := range frames {
		if err = end(decoder.Decode(f)); err != nil {
			break
		}
	}
	if err == nil {
		err = end(decoder.Close())
	}
	if err != nil {
		r.ended(x, err, there, all, sent.Bytes())
		return ""
	}
	r.translated(x, losses.List(), all, sent.Bytes())
	return framed.String()
}

// failure crosses an answer that is an error, and returns what its caller gets.
func failure(r *row, x exchange, here, there protocol) []byte {
	f := here.codec.DecodeError(x.Status, x.Response)
	f.RequestID = "req_1"
	_, body := there.codec.EncodeError(f)
	r.translated(x, nil, judge(there.error, body, true), body)
	return body
}

// judge compares a body with an SDK's type, and has the SDK read it.
func judge(t reflect.Type, body []byte, answer bool) []misfit {
	d := json.NewDecoder(bytes.NewReader(body))
	d.UseNumber()
	var v any
	if err := d.Decode(&v); err != nil {
		return []misfit{{"$", err.Error(), false}}
	}
	if err := json.Unmarshal(body, reflect.New(t).Interface()); err != nil {
		return []misfit{{"$", "the SDK cannot read it: " + err.Error(), false}}
	}
	return fit(t, v, "$", answer)
}

// ended notes an answer in place of which the upstream has failed, or which it has cut. Its callers get that as an error of
// theirs.
func (r *row) ended(x exchange, err error, there protocol, all []misfit, sent []byte) {
	f := fault.From(err)
	f.RequestID = "req_1"
	_, body := there.codec.EncodeError(f)
	r.count(x, endedKey, cmp.Or(f.Reason, fault.Name(f.Kind)))
	r.translated(x, nil, append(all, judge(there.error, body, true)...), append(sent, body...))
}

// nameOf returns the name of the member that a refusal is about, or "" when it has none.
func nameOf(err error) string {
	if f := fault.From(err); f.Kind == fault.InvalidRequest {
		return f.Param
	}
	return ""
}
