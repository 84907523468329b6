package architecture_test

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	genwayv1 "github.com/genway/genway/gen/genway/v1"
	"github.com/genway/genway/protocol"
)

// allowed are the files outside of package protocol that may name a protocol, each with the
// number of places and the reason. A new place is rather a new field of protocol.Protocol.
var allowed = map[string]struct {
	places int
	reason string
}{
	"cmd/genway-conformance/faults.go":  {1, "the member of a request for text that must not be empty"},
	"cmd/internal/edgeproc/edgeproc.go": {3, "a flag of a command belongs to one protocol"},
	"codec/thinking.go":                 {10, "the names of origins in signature envelopes, which callers keep, are below the table"},
	"codec/stop.go":                     {10, "the table of ends has a column for each protocol, and the codecs that read it are below the table of protocols"},
	"codec/fit/neutral.go":              {2, "strict: false is what chat completions and messages do without it"},
	"codec/fit/turns.go":                {1, "reasoning that nothing follows is refused by responses alone"},
	"core/catalog/fit.go":               {3, "a budget of thinking is a part of max_tokens in messages alone"},
	"codec/fit/reasoning.go":            {2, "include is a member of responses alone"},
	"codec/fit/unplaced.go":             {6, "the rules of where parts of messages have a place belong to the codecs, which are below the table"},
	"codec/fit/tools.go":                {1, "the bound of strict tools is of messages"},
	"core/references.go":                {2, "references to items are read by the codec of responses alone"},
	"core/stored.go":                    {1, "one protocol alone lists the input of a response"},
	"core/route/attempt.go":             {2, "a maximum of tokens has two members in chat completions alone; references to items are those of responses"},
	"sandbox/sandbox.go":                {4, "the table of what the sandbox imitates of each vendor"},
	"sandbox/conversation.go":           {2, "threads are a member of messages alone"},
	"sandbox/seal.go":                   {1, "the sandbox signs for direct callers as one vendor does"},
}

// homes are where protocols are named by right: the table, what all codecs share, the harness of tests, and
// the made-up rows of the demo.
var homes = []string{
	"gen/", "protocol/", "codec/setting/", // the table has a column for each protocol
	"codec/codectest/", "codec/translation/", "codec/carried/", "test/", "docs/examples/",
	"core/demo/",
}

// otherWords are files in which a word that is also a protocol's name means something else.
var otherWords = map[string]string{
	"codec/fit/text.go":                 "a field of the contract",
	"codec/fit/history.go":              "a field of the contract",
	"codec/fit/unplaced.go":             "a field of the contract",
	"codec/fit/signature.go":            "a field of the contract",
	"codec/fit/turns.go":                "a field of the contract",
	"core/keys/group.go":                "groups of keys",
	"core/explain/members.go":           "a field of the contract",
	"core/service.go":                   "a field of the contract",
	"core/ledger/entry.go":              "a column of the ledger",
	"core/price/write.go":               "a member of the prices",
	"core/catalog/foreign.go":           "LiteLLM's modes",
	"core/price/foreign/litellm.go":     "LiteLLM's modes",
	"core/config/foreign/bifrost.go":    "kinds of upstreams",
	"core/config/foreign/litellm.go":    "kinds of upstreams",
	"core/upstream/remote/account.go":   "a field of the contract",
	"core/store/storetest/ledger.go":    "rows of a test",
	"core/store/storetest/report.go":    "rows of a test",
	"sandbox/models.go":                 "what a model draws",
	"gateway/openapi/generate/paths.go": "a member of OpenAPI",
}

// providers has the data of providers, among them the kinds that each of them offers.
const providers = "core/upstream/provider/"

// What is true of a protocol stands in package protocol, which all others read: few places
// elsewhere name one, by its constant, its number or its name, or by the codec of its texts.
func TestProtocolsAreNamedAtHome(t *testing.T) {
	var names []string
	homes := slices.Clone(homes)
	for _, p := range protocol.All() {
		names, homes = append(names, p.Name, p.Kind), append(homes, "codec/"+p.Kind+"/")
	}
	found := map[string][]string{}
	words := map[string]bool{}
	err := filepath.WalkDir("../..", func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		file := filepath.ToSlash(strings.TrimPrefix(path, "../../"))
		if entry.IsDir() && strings.HasPrefix(entry.Name(), ".") && len(entry.Name()) > 2 {
			return fs.SkipDir
		}
		if !strings.HasSuffix(file, ".go") || strings.HasSuffix(file, "_test.go") || slices.ContainsFunc(homes, func(home string) bool { return strings.HasPrefix(file, home) }) {
			return nil
		}
		if otherWords[file] != "" {
			words[file] = len(named(t, path, names, false)) > len(named(t, path, names, true))
		}
		if places := named(t, path, names, otherWords[file] != "" || strings.HasPrefix(file, providers)); len(places) > 0 {
			found[file] = places
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	for file, places := range found {
		if most := allowed[file].places; len(places) > most {
			t.Errorf("%s names a protocol in %d places, of %d allowed:\n\t%s\nMake it a field of protocol.Protocol, which the file reads; or allow it here with its reason.",
				file, len(places), most, strings.Join(places, "\n\t"))
		}
	}
	for file, a := range allowed {
		if n := len(found[file]); n < a.places {
			t.Errorf("%s names a protocol in %d places only: allow no more than that", file, n)
		}
	}
	for file := range otherWords {
		if !words[file] {
			t.Errorf("%s has no word that is also a protocol's name: remove it from otherWords", file)
		}
	}
}

// codecs begins the paths of codecs. That of images is one of requests and not of a protocol among several.
const codecs, images = "github.com/genway/genway/codec/", "images"

// named returns the places in a file that name a protocol, as "line LINE: WHAT".
func named(t *testing.T, path string, names []string, otherWords bool) []string {
	t.Helper()
	files := token.NewFileSet()
	tree, err := parser.ParseFile(files, path, nil, parser.SkipObjectResolution)
	if err != nil {
		t.Fatal(err)
	}
	var places []string
	ast.Inspect(tree, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.ImportSpec:
			if kind, is := strings.CutPrefix(strings.Trim(n.Path.Value, `"`), codecs); is && kind != images && slices.Contains(names, kind) {
				places = append(places, fmt.Sprintf("line %d: import %s", files.Position(n.Pos()).Line, n.Path.Value))
			}
			return false
		case *ast.Field:
			return false // a tag
		case *ast.CallExpr:
			if called, is := n.Fun.(*ast.SelectorExpr); is && called.Sel.Name == "Protocol" && len(n.Args) == 1 {
				if number, is := n.Args[0].(*ast.BasicLit); is && number.Kind == token.INT {
					places = append(places, fmt.Sprintf("line %d: Protocol(%s)", files.Position(n.Pos()).Line, number.Value))
				}
			}
		case *ast.SelectorExpr:
			name := n.Sel.Name
			if strings.HasPrefix(name, "Protocol_PROTOCOL_") && name != "Protocol_"+genwayv1.Protocol_PROTOCOL_UNSPECIFIED.String() {
				places = append(places, fmt.Sprintf("line %d: %s", files.Position(n.Pos()).Line, name))
			}
		case *ast.BasicLit:
			text, err := strconv.Unquote(n.Value)
			if n.Kind == token.STRING && err == nil && !otherWords && slices.Contains(names, text) {
				places = append(places, fmt.Sprintf("line %d: %s", files.Position(n.Pos()).Line, n.Value))
			}
		}
		return true
	})
	return places
}

// The count finds what it is for, and nothing else.
func TestNamed(t *testing.T) {
	path := filepath.Join(t.TempDir(), "x.go")
	const text = "package x\nimport \"chat\"\nvar a = genwayv1.Protocol_PROTOCOL_MESSAGES\nvar b = `responses`\nvar c = genwayv1.Protocol_PROTOCOL_UNSPECIFIED\nvar d = \"chat \" + f(\"messages\", 7)\nvar e = genwayv1.Protocol(3) == genwayv1.Protocol(number)\n"
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	got := named(t, path, []string{"chat", "messages", "responses"}, false)
	want := []string{"line 3: Protocol_PROTOCOL_MESSAGES", "line 4: `responses`", `line 6: "messages"`, "line 7: Protocol(3)"}
	if !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
	if got := named(t, path, []string{"chat", "messages"}, true); !slices.Equal(got, []string{want[0], want[3]}) {
		t.Errorf("where words mean something else: %q", got)
	}
}

// A codec that is imported is named, too: its type tells the protocol.
func TestImportsAreNamed(t *testing.T) {
	path := filepath.Join(t.TempDir(), "x.go")
	const text = "package x\nimport \"github.com/genway/genway/codec/messages\"\nimport \"github.com/genway/genway/codec/images\"\nimport \"github.com/genway/genway/codec/fault\"\n"
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	want := []string{`line 2: import "github.com/genway/genway/codec/messages"`}
	if got := named(t, path, []string{"messages", images}, false); !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}

// The table has no variable for a single protocol but Direct, so that no other package compares with one.
func TestTheTableExportsNoProtocol(t *testing.T) {
	sources, err := filepath.Glob("../../protocol/*.go")
	if err != nil {
		t.Fatal(err)
	}
	for _, source := range sources {
		tree, err := parser.ParseFile(token.NewFileSet(), source, nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		for _, declared := range tree.Decls {
			variables, is := declared.(*ast.GenDecl)
			if !is || variables.Tok != token.VAR {
				continue
			}
			for _, spec := range variables.Specs {
				for _, name := range spec.(*ast.ValueSpec).Names {
					if name.IsExported() && name.Name != "Direct" && name.Name != "SessionHeaders" {
						t.Errorf("%s exports %s: packages read the table by protocol.Of, ByName, ByKind and All", source, name.Name)
					}
				}
			}
		}
	}
}
