package clients

import (
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// A client of the contract links Protocol Buffers, gRPC and what gRPC needs, and of ours the contract alone.
func TestU30ContractStandsAlone(t *testing.T) {
	cmd := exec.CommandContext(t.Context(), "go", "list", "-deps", "-f", "{{with .Module}}{{.Path}}{{end}}\t{{.ImportPath}}", ".")
	cmd.Dir = filepath.Join(root, "docs", "examples", "client-go")
	out, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	var modules, ours []string
	for line := range strings.Lines(string(out)) {
		module, path, _ := strings.Cut(strings.TrimSuffix(line, "\n"), "\t")
		if module == "github.com/genway/genway" {
			ours = append(ours, path)
		}
		if module != "" && !slices.Contains(modules, module) {
			modules = append(modules, module)
		}
	}
	slices.Sort(modules)
	if want := []string{
		"github.com/genway/genway", "github.com/genway/genway/docs/examples/client-go", "golang.org/x/net", "golang.org/x/sys", "golang.org/x/text",
		"google.golang.org/genproto/googleapis/api", "google.golang.org/genproto/googleapis/rpc", "google.golang.org/grpc", "google.golang.org/protobuf",
	}; !slices.Equal(modules, want) {
		t.Errorf("a client links %q, not %q", modules, want)
	}
	slices.Sort(ours)
	if want := []string{"github.com/genway/genway/gen/genway/edge/v1", "github.com/genway/genway/gen/genway/v1"}; !slices.Equal(ours, want) {
		t.Errorf("a client links %q, not %q", ours, want)
	}
}
