package main

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/genway/genway/codec"
	genwayv1 "github.com/genway/genway/gen/genway/v1"
)

// TestEnds holds the table of ends (codec.StopWord) to the SDKs: each of their words is in it as that vendor's, and
// no caller gets a word that its SDK does not have. A word of a later version fails here.
func TestEnds(t *testing.T) {
	for protocol, words := range map[genwayv1.Protocol][]string{
		genwayv1.Protocol_PROTOCOL_CHAT_COMPLETIONS: fieldWords(t, "chatcompletion.go", "ChatCompletionChoice", "FinishReason"),
		genwayv1.Protocol_PROTOCOL_RESPONSES:        fieldWords(t, "responses/response.go", "ResponseIncompleteDetails", "Reason"),
		genwayv1.Protocol_PROTOCOL_MESSAGES: append(
			constants(t, "github.com/anthropics/anthropic-sdk-go", "message.go", "StopReason"),
			constants(t, "github.com/anthropics/anthropic-sdk-go", "betamessage.go", "BetaStopReason")...),
		genwayv1.Protocol_PROTOCOL_GENERATE_CONTENT: constants(t, "google.golang.org/genai", "types.go", "FinishReason"),
		genwayv1.Protocol_PROTOCOL_INTERACTIONS: slices.DeleteFunc(
			constants(t, "google.golang.org/genai", "interactions/models/interactions/interaction.go", "InteractionStatus"),
			func(word string) bool { return slices.Contains(noEnds, word) }),
	} {
		if len(words) < 4 {
			t.Fatalf("%s: the SDK has %q", protocol, words)
		}
		for _, word := range words {
			for _, spelled := range []string{word, strings.ToUpper(word), strings.ToLower(word)} {
				if own, known := codec.VendorStopWord(protocol, spelled); !known || own != word {
					t.Errorf("%s: %q is not in the table of ends", protocol, spelled)
				}
			}
		}
		for number := range int32(len(genwayv1.StopReason_name)) + 2 {
			reason := genwayv1.StopReason(number)
			word := codec.StopWord(protocol, reason)
			if !slices.Contains(words, word) && (word != "" || protocol != genwayv1.Protocol_PROTOCOL_RESPONSES) {
				t.Errorf("%s: %s is written as %q, which the SDK does not have: %q", protocol, reason, word, words)
			}
			meant := codec.StopReasonOf(word)
			if _, named := genwayv1.StopReason_name[number]; (!named || codec.Unworded(reason)) &&
				meant != genwayv1.StopReason_STOP_REASON_MAX_TOKENS && meant != genwayv1.StopReason_STOP_REASON_OTHER {
				t.Errorf("%s: %s is written as %q, which looks like %s", protocol, reason, word, meant)
			}
		}
	}
}

// noEnds are words for the status of an interaction that has not come to the end of an answer.
var noEnds = []string{"in_progress", "queued", "failed", "cancelled"}

// source returns the syntax of a file of a module.
func source(t *testing.T, module, file string) *ast.File {
	t.Helper()
	dir, err := exec.CommandContext(t.Context(), "go", "list", "-m", "-f", "{{.Dir}}", module).Output()
	if err != nil {
		t.Fatal(err)
	}
	f, err := parser.ParseFile(token.NewFileSet(), filepath.Join(strings.TrimSpace(string(dir)), file), nil, parser.ParseComments)
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// constants returns the values of the constants of a type of strings.
func constants(t *testing.T, module, file, name string) []string {
	t.Helper()
	var words []string
	ast.Inspect(source(t, module, file), func(n ast.Node) bool {
		if v, ok := n.(*ast.ValueSpec); ok && len(v.Values) == 1 {
			if typ, ok := v.Type.(*ast.Ident); ok && typ.Name == name {
				words = append(words, unquoted(t, v.Values[0].(*ast.BasicLit).Value))
			}
		}
		return true
	})
	return words
}

var quoted = regexp.MustCompile(`"[^"]*"`)

// fieldWords returns the values that the comment on a member of a type of openai-go lists.
func fieldWords(t *testing.T, file, typ, field string) []string {
	t.Helper()
	var words []string
	ast.Inspect(source(t, "github.com/openai/openai-go/v3", file), func(n ast.Node) bool {
		spec, ok := n.(*ast.TypeSpec)
		if !ok || spec.Name.Name != typ {
			return true
		}
		for _, f := range spec.Type.(*ast.StructType).Fields.List {
			if len(f.Names) == 1 && f.Names[0].Name == field {
				_, list, _ := strings.Cut(f.Doc.Text(), "Any of ")
				for _, word := range quoted.FindAllString(list, -1) {
					words = append(words, unquoted(t, word))
				}
			}
		}
		return false
	})
	return words
}

func unquoted(t *testing.T, literal string) string {
	t.Helper()
	word, err := strconv.Unquote(literal)
	if err != nil {
		t.Fatal(err)
	}
	return word
}
