package member

import (
	"strings"
	"testing"
)

func TestWeigh(t *testing.T) {
	picture := strings.Repeat("QUJD", 512)
	for body, want := range map[string][2]int{
		`{}`:                                {0, 0},
		`{"a":"12345","b" : {"c":["6",7]}}`: {6, 0},
		`{"a":"1\"2"}`:                      {4, 0},
		`{"a":"` + picture + `"}`:           {0, 1},
		`{"a":"data:image/png;base64,` + picture + `","b":"text"}`: {4, 1},
		`{"a":"` + strings.Repeat("word ", 1000) + `"}`:            {5000, 0},
		`{"a":"QUJD"}`: {4, 0},
		`{"a":"cut`:    {0, 0},
	} {
		if text, attachments := Weigh([]byte(body)); text != want[0] || attachments != want[1] {
			t.Errorf("%.40s: %d and %d, want %v", body, text, attachments, want)
		}
	}
}
