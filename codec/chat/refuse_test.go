package chat_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/genway/genway/codec/fault"
)

// TestBadRequests demands a fault that names the member, as the caller wrote it.
func TestBadRequests(t *testing.T) {
	message := func(m string) string { return `{"model":"m","messages":[` + m + `]}` }
	with := func(members string) string {
		return `{"model":"m","messages":[{"role":"user","content":"a"}],` + members + `}`
	}
	for name, tc := range map[string]struct{ body, param string }{
		"no model":              {`{"messages":[{"role":"user","content":"a"}]}`, "model"},
		"empty model":           {`{"model":"","messages":[]}`, "model"},
		"no messages":           {`{"model":"m"}`, "messages"},
		"null messages":         {`{"model":"m","messages":null}`, "messages"},
		"empty messages":        {`{"model":"m","messages":[]}`, "messages"},
		"messages a string":     {`{"model":"m","messages":"a"}`, "messages"},
		"model a number":        {`{"model":1,"messages":[]}`, "model"},
		"no role":               {message(`{"content":"a"}`), "messages[0].role"},
		"odd role":              {message(`{"role":"bot","content":"a"}`), "messages[0].role"},
		"no content":            {message(`{"role":"user"}`), "messages[0].content"},
		"null content":          {message(`{"role":"tool","tool_call_id":"a","content":null}`), "messages[0].content"},
		"content a number":      {message(`{"role":"user","content":7}`), "messages[0].content"},
		"part a string":         {message(`{"role":"user","content":["a"]}`), "messages[0].content[0]"},
		"part without type":     {message(`{"role":"user","content":[{"text":"a"}]}`), "messages[0].content[0].type"},
		"text without text":     {message(`{"role":"user","content":[{"type":"text"}]}`), "messages[0].content[0].text"},
		"image without url":     {message(`{"role":"user","content":[{"type":"image_url"}]}`), "messages[0].content[0].image_url"},
		"image with empty url":  {message(`{"role":"user","content":[{"type":"image_url","image_url":{"url":""}}]}`), "messages[0].content[0].image_url.url"},
		"image with bad base64": {message(`{"role":"user","content":[{"type":"text","text":"a"},{"type":"image_url","image_url":{"url":"data:image/png;base64,%%"}}]}`), "messages[0].content[1].image_url.url"},
		"image url a number":    {message(`{"role":"user","content":[{"type":"image_url","image_url":{"url":1}}]}`), "messages[0].content[0].image_url.url"},
		"audio without data":    {message(`{"role":"user","content":[{"type":"input_audio","input_audio":{"format":"wav"}}]}`), "messages[0].content[0].input_audio.data"},
		"file without source":   {message(`{"role":"user","content":[{"type":"file","file":{"filename":"a"}}]}`), "messages[0].content[0].file.file_data"},
		"T19 no call id":        {message(`{"role":"tool","content":"a"}`), "messages[0].tool_call_id"},
		"function without name": {message(`{"role":"function","content":"a"}`), "messages[0].name"},
		"call without id":       {message(`{"role":"assistant","tool_calls":[{"type":"function","function":{"name":"f","arguments":"{}"}}]}`), "messages[0].tool_calls[0].id"},
		"call without name":     {message(`{"role":"assistant","tool_calls":[{"id":"a","type":"function","function":{"arguments":"{}"}}]}`), "messages[0].tool_calls[0].function.name"},
		"custom without name":   {message(`{"role":"assistant","tool_calls":[{"id":"a","type":"custom","custom":{}}]}`), "messages[0].tool_calls[0].custom.name"},
		"calls of a user":       {message(`{"role":"user","content":"a","tool_calls":[{"id":"a"}]}`), "messages[0].tool_calls"},
		"refusal an object":     {message(`{"role":"assistant","refusal":{}}`), "messages[0].refusal"},
		"tool without type":     {with(`"tools":[{}]`), "tools[0].type"},
		"tool without function": {with(`"tools":[{"type":"function"}]`), "tools[0].function"},
		"tool without name":     {with(`"tools":[{"type":"function","function":{}}]`), "tools[0].function.name"},
		"custom tool unnamed":   {with(`"tools":[{"type":"custom","custom":{}}]`), "tools[0].custom.name"},
		"strict a string":       {with(`"tools":[{"type":"function","function":{"name":"f","strict":"yes"}}]`), "tools[0].function.strict"},
		"function unnamed":      {with(`"functions":[{}]`), "functions[0].name"},
		"choice a number":       {with(`"tool_choice":1`), "tool_choice"},
		"choice without type":   {with(`"tool_choice":{}`), "tool_choice.type"},
		"choice without name":   {with(`"tool_choice":{"type":"function"}`), "tool_choice.function.name"},
		"choice malformed":      {with(`"tool_choice":{"type":"function","function":7}`), "tool_choice"},
		"format without type":   {with(`"response_format":{}`), "response_format.type"},
		"schema missing":        {with(`"response_format":{"type":"json_schema"}`), "response_format.json_schema"},
		"schema unnamed":        {with(`"response_format":{"type":"json_schema","json_schema":{}}`), "response_format.json_schema.name"},
		"limits that differ":    {with(`"max_tokens":5,"max_completion_tokens":6`), "max_tokens"},
		"temperature a string":  {with(`"temperature":"hot"`), "temperature"},
		"no choices":            {with(`"n":0`), "n"},
		"no tokens":             {with(`"max_tokens":0`), "max_tokens"},
		"fraction of a token":   {with(`"max_completion_tokens":1.5`), "max_completion_tokens"},
		"stop a number":         {with(`"stop":1`), "stop"},
		"stop of numbers":       {with(`"stop":[1]`), "stop[0]"},
		"metadata of numbers":   {with(`"metadata":{"a":1}`), "metadata.a"},
		"voice a number":        {with(`"audio":{"voice":1}`), "audio.voice"},
		"stream a string":       {with(`"stream":"yes"`), "stream"},
		"F9 twice":              {with(`"user":"a","user":"b"`), "user"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := c.DecodeRequest([]byte(tc.body))
			var f *fault.Error
			if !errors.As(err, &f) {
				t.Fatalf("no fault: %v", err)
			}
			if f.Kind != fault.InvalidRequest || f.Param != tc.param {
				t.Errorf("%v %q: %s", f.Kind, f.Param, f.Message)
			}
			if strings.Contains(f.Message, "Go ") {
				t.Errorf("the message tells of the implementation: %s", f.Message)
			}
		})
	}
}

// TestBadAnswers demands that what an upstream writes wrong is the upstream's
// fault, and withheld.
func TestBadAnswers(t *testing.T) {
	for name, body := range map[string]string{
		"empty":          ``,
		"not JSON":       `<html>`,
		"no choices":     `{"id":"a"}`,
		"null choices":   `{"choices":null}`,
		"choices":        `{"choices":7}`,
		"bad image":      `{"choices":[{"message":{"images":[{"type":"image_url"}]}}]}`,
		"bad audio":      `{"choices":[{"message":{"audio":{"id":"a","data":"%"}}}]}`,
		"finish reason":  `{"choices":[{"finish_reason":1}]}`,
		"call unfounded": `{"choices":[{"message":{"tool_calls":[{"type":"function"}]}}]}`,
	} {
		t.Run(name, func(t *testing.T) {
			_, err := c.DecodeResponse([]byte(body))
			var f *fault.Error
			if !errors.As(err, &f) || f.Kind != fault.BadUpstream || f.Reason != fault.ReasonMalformedAnswer {
				t.Fatalf("%v", err)
			}
		})
	}
}
