package clients

import (
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// The contract's module needs Protocol Buffers, gRPC and what gRPC needs, and nothing of the gateway;
// so does a client that imports it.
func TestU30ContractStandsAlone(t *testing.T) {
	want := []string{
		"github.com/genway/genway/contract", "golang.org/x/net", "golang.org/x/sys", "golang.org/x/text",
		"google.golang.org/genproto/googleapis/rpc", "google.golang.org/grpc", "google.golang.org/protobuf",
	}
	for dir, more := range map[string][]string{
		"contract":           nil,
		"examples/client-go": {"github.com/genway/genway/examples/client-go"},
	} {
		cmd := exec.CommandContext(t.Context(), "go", "list", "-deps", "-f", "{{with .Module}}{{.Path}}{{end}}", "./...")
		cmd.Dir = filepath.Join(root, dir)
		out, err := cmd.Output()
		if err != nil {
			t.Fatal(dir, err)
		}
		got := strings.Fields(string(out))
		slices.Sort(got)
		got = slices.Compact(got)
		expected := slices.Sorted(slices.Values(append(slices.Clone(want), more...)))
		if !slices.Equal(got, expected) {
			t.Errorf("%s needs %q, not %q", dir, got, expected)
		}
	}
}
