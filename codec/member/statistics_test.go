package member

import (
	"strings"
	"testing"
)

func TestStatistics(t *testing.T) {
	picture := strings.Repeat("QUJD", 512)
	for body, want := range map[string][2]int{
		`{}`:                                {0, 0},
		`{"a":"12345","b" : {"c":["6",7]}}`: {6, 0},
		`{"a":"1\"2"}`:                      {4, 0},
		`{"a":"` + picture + `"}`:           {0, 1},
		`{"a":"data:image/png;base64,` + picture + `","b":"text"}`: {4, 1},
		`{"a":"` + strings.Repeat("word ", 1000) + `"}`:            {5000, 0},
		`{"a":"QUJD"}`: {4, 0},
	} {
		var o TopIndex
		if !o.Read([]byte(body), &Look{Sign: func([]byte) Signs { return 0 }}) || o.Text != want[0] || o.Attachments != want[1] {
			t.Errorf("%.40s: %d and %d, want %v", body, o.Text, o.Attachments, want)
		}
	}
}

// A sign in any value counts, and in no name.
func TestSigns(t *testing.T) {
	look := &Look{Sign: func(value []byte) Signs {
		if string(value) == "x" {
			return Foreign
		}
		return 0
	}}
	for body, want := range map[string]bool{
		`{"a":"x"}`: true, `{"a":[{"b":["y","x"]}],"c":1}`: true, `{"x":"y"}`: false, `{}`: false,
		`{"a":"x"`: true, // cut
	} {
		if got := StatisticsOf([]byte(body), look).GetForeign(); got != want {
			t.Errorf("%s: %v", body, got)
		}
	}
}

// A result without an identifier is seen wherever it is, one with an identifier is none.
func TestResults(t *testing.T) {
	look := &Look{Kind: "type", ID: "id", Sign: func(value []byte) Signs {
		if string(value) == "result" {
			return Result
		}
		return 0
	}}
	for body, want := range map[string]bool{
		`{"a":[{"type":"result","id":"1"}]}`: false, `{"a":[{"id":"1","x":{"y":[]},"type":"result"}]}`: false,
		`{"a":[{"type":"other"}]}`: false, `{"a":[{"name":"result"}]}`: false, `{"a":["result"]}`: false,
		`{"a":[{"type":"result"}]}`: true, `{"a":[{"type":"result","id":""}]}`: true, `{"a":[{"type":"result","id":1}]}`: true,
		`{"a":[{"type":"result","x":{"id":"1"}}]}`: true, `{"id":"1","a":[{"type":"result","id":"1"},{"type":"result"}]}`: true,
	} {
		var o TopIndex
		if !o.Read([]byte(body), look) || (o.Signs&Result != 0) != want {
			t.Errorf("%s: %v", body, o.Signs)
		}
	}
}
