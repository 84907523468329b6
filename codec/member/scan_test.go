package member

import (
	"bytes"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"
	"pgregory.net/rapid"
)

// valid is what the scanner takes, as a whole.
func valid(body []byte) bool {
	s := scanner{b: body}
	end, ok := s.value(space(body, 0), 0)
	return ok && space(body, end) == len(body)
}

var scanned = map[string]bool{
	`{}`: true, ` { } `: true, `[]`: true, `[ ]`: true, `""`: true, `0`: true, `-0`: true, `1.5e+3`: true, `-12E-1`: true,
	`true`: true, `false`: true, `null`: true, `{"a":[1,{"b":null}],"c":"x"}`: true, `[1 , 2]`: true,
	`"\"\\\/\b\f\n\r\t\u00e9\ud800"`: true, `"é中😀"`: true, "\"\x7f\"": true,
	`"01234567\"01234567"`: true, `"0123456789012345678901234567890123456789"`: true,

	``: false, ` `: false, `{`: false, `[`: false, `"`: false, `"a`: false, `"01234567`: false, `{"a"`: false, `{"a":`: false, `{"a":1`: false,
	`{"a":1,}`: false, `{,}`: false, `[1,]`: false, `[,]`: false, `[1 2]`: false, `{"a" 1}`: false, `{a:1}`: false, `{1:1}`: false,
	`01`: false, `-`: false, `1.`: false, `.5`: false, `1e`: false, `+1`: false, `tru`: false, `nul`: false, `True`: false, `1 2`: false,
	`"\x"`: false, `"\u12"`: false, `"\u12g4"`: false, `"\`: false, "\"\n\"": false, "\"0123456\x1f\"": false, "\"\xff\"": false, "\"0123456\xe4\xb8\"": false,
	`{"a":1,"a":2}`: false, `{"b":{"a":1,"a":2}}`: false,
	// The decoder takes these.
	`{"\u0061":1}`: false,
}

func TestScan(t *testing.T) {
	for text, want := range scanned {
		if got := valid([]byte(text)); got != want {
			t.Errorf("%q: %v", text, got)
		}
	}
	deep := strings.Repeat("[", maxScanDepth)
	if text := deep + strings.Repeat("]", maxScanDepth); !valid([]byte(text)) || valid([]byte("["+text+"]")) {
		t.Error("depth")
	}
}

// Any number of names are distinguished.
func TestScanManyNames(t *testing.T) {
	for _, n := range []int{1, 31, 32, 33, 34, 35, 100} {
		list := make([]string, n)
		for i := range list {
			list[i] = `"` + strings.Repeat("n", i+1) + `":0`
		}
		if !valid([]byte("{" + strings.Join(list, ",") + "}")) {
			t.Errorf("%d names are not taken", n)
		}
		for i := range list {
			if valid([]byte("{" + strings.Join(list, ",") + "," + list[i] + "}")) {
				t.Errorf("%d names and the %d. twice are taken", n, i)
			}
		}
	}
}

// What the scanner takes, the decoder takes, and is UTF-8; without escapes the other way
// round as well.
func FuzzScan(f *testing.F) {
	for text := range scanned {
		f.Add([]byte(text))
	}
	f.Add([]byte(`{"a":"` + strings.Repeat("é中😀x", 20) + `\n\"` + strings.Repeat("y", 40) + `"}`))
	f.Fuzz(func(t *testing.T, body []byte) {
		taken := valid(body)
		if taken && (!jsontext.Value(body).IsValid(jsontext.AllowInvalidUTF8(true)) || !utf8.Valid(body)) {
			t.Errorf("%q is taken", body)
		}
		shallow := bytes.Count(body, []byte("["))+bytes.Count(body, []byte("{")) < maxScanDepth
		if !taken && shallow && !bytes.Contains(body, []byte(`\`)) && jsontext.Value(body).IsValid() {
			t.Errorf("%q is not taken", body)
		}
		// Whatever stands around it moves no byte of it.
		for pad := range 34 {
			space := bytes.Repeat([]byte(" "), pad)
			if valid(append(space, body...)) != taken || valid(append(bytes.Clone(body), space...)) != taken {
				t.Errorf("%q is judged by its place", body)
			}
		}
	})
}

// Whatever the decoder takes in strict mode and without escapes in names, the scanner
// takes.
func TestScanTakesEncodedText(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.String().Draw(t, "text")
		quoted, err := jsontext.AppendQuote(nil, text)
		if err != nil {
			t.Fatal(err)
		}
		if !valid(quoted) {
			t.Fatalf("%s is not taken", quoted)
		}
		cut := rapid.IntRange(0, len(quoted)-1).Draw(t, "cut")
		if valid(quoted[:cut]) {
			t.Fatalf("%s is taken", quoted[:cut])
		}
	})
}

func BenchmarkScan(b *testing.B) {
	text := strings.Repeat("The quick brown fox jumps over the lazy dog. ", 20)
	for name, body := range map[string]string{
		"1KB":    `{"model":"m","messages":[{"role":"system","content":"You are terse."},{"role":"user","content":"` + text + `"}]}`,
		"base64": `{"model":"m","messages":[{"role":"user","content":"` + strings.Repeat("iVBORw0KGgoAAAAN", 65536) + `"}]}`,
		"han":    `{"model":"m","messages":[{"role":"user","content":"` + strings.Repeat("网关把每个请求翻译成另一种协议", 4096) + `"}]}`,
	} {
		b.Run(name, func(b *testing.B) {
			b.SetBytes(int64(len(body)))
			b.ReportAllocs()
			raw := []byte(body)
			for b.Loop() {
				if !valid(raw) {
					b.Fatal("not taken")
				}
			}
		})
	}
}

// A long string ends where a decoder ends it, wherever a byte is that needs a look.
func TestLongStrings(t *testing.T) {
	const size = 3*4096 + 100
	for _, needs := range []string{"", `"`, `\\`, `\"`, `\u00e9`, `\x`, `\`, "\x1f", "\n", "\x7f", "é", "\x80", "\xff", "\x00"} {
		for _, at := range []int{0, 1, 255, 256, 257, 4095, 4096, 4351, 4352, 4353, 8447, 8448, 8449, size - 40, size - 1, size} {
			text := []byte(`["` + strings.Repeat("A", at) + needs + strings.Repeat("/", size-at) + `",1]`)
			end, ok := String(text, 1)
			d := jsontext.NewDecoder(bytes.NewReader(text))
			_, _ = d.ReadToken()
			value, err := d.ReadValue()
			if ok != (err == nil) || ok && end != 1+len(value) {
				t.Errorf("%q at %d: the end is %d, %v; want %d, %v", needs, at, end, ok, 1+len(value), err)
			}
		}
	}
	if end, ok := String([]byte(`"`+strings.Repeat("A", 2*size)), 0); ok {
		t.Errorf("a string without an end ends at %d", end)
	}
}

// Elements are those that a decoder finds.
func TestListElements(t *testing.T) {
	for list, want := range map[string][]string{
		`[]`: nil, ` [ ] `: nil, `{}`: nil, `null`: nil, ``: nil, `[`: nil, `[1`: nil, `"[1]"`: nil,
		`[1]`: {`1`}, ` [ {"a":[1,"]"]} , "x,\"]" ,null,-1.5e3 , [ ] ] `: {`{"a":[1,"]"]}`, `"x,\"]"`, `null`, `-1.5e3`, `[ ]`},
	} {
		var got []string
		for i, raw := range Elements([]byte(list)) {
			if i != len(got) {
				t.Errorf("%s: element %d after %d", list, i, len(got))
			}
			got = append(got, string(raw))
		}
		if !slices.Equal(got, want) {
			t.Errorf("%s: %q, want %q", list, got, want)
		}
	}
	for range Elements([]byte(`[1,2]`)) {
		break
	}
}
