package programs

import (
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/genway/genway/test/conformance/server"
)

// rawKey is a key as the commands that make one print it.
var rawKey = regexp.MustCompile(`gwk_[0-9A-Za-z]+`)

// administer makes, changes and imports keys, on the store and through the Admin service,
// with keys where they belong and where they do not, and keeps all output. The
// keys that are made on the way are among the secrets from then on.
func administer(t *testing.T, r *rig, found *leaks, admin string) {
	t.Helper()
	dir := t.TempDir()
	keyFile, wrongFile := filepath.Join(dir, "key"), filepath.Join(dir, "wrong")
	write(t, keyFile, admin)
	write(t, wrongFile, found.secrets["key of chat"])
	for way, flags := range map[string][]string{
		"store":   server.At(r.Data),
		"service": {"--server", r.GRPC, "--server-key-file", keyFile},
	} {
		// makes runs a command that prints keys, which are shown this once.
		makes := func(args ...string) {
			out, err := server.Output("genway", slices.Concat([]string{"keys"}, args, flags)...)
			made := rawKey.FindAllString(out, -1)
			if err != nil || len(made) == 0 {
				t.Fatalf("keys %v by the %s: %v\n%s", args, way, err, out)
			}
			for _, key := range made {
				found.secrets["key "+key[len(key)-6:]+" made by the "+way] = key
				out = strings.ReplaceAll(out, key, "")
			}
			found.add("reports", out)
		}
		makes("create", "--group", "chat", "--name", "canary-"+way)
		makes("rotate", "canary-"+way)
		table := filepath.Join(dir, way+".csv")
		write(t, table, "group,name,owner\nchat,imported-"+way+",someone\nmessages,second-"+way+",someone\n")
		makes("import", table)

		shown, err := server.Output("genway", slices.Concat([]string{"keys", "show", "canary-" + way}, flags)...)
		if err != nil {
			t.Fatal(err)
		}
		found.add("reports", shown)
		key := found.secrets["key of messages"]
		bad := filepath.Join(dir, way+"-bad.csv")
		for _, text := range []string{
			"group,name\nchat," + key + "\n", "group," + key + "\nchat,a\n", key + "\n", "group,name,expire_time\nchat,a," + key + "\n", "group,name,budget_day\nchat,a," + key + "\n",
		} {
			write(t, bad, text)
			refused(t, found, slices.Concat([]string{"keys", "import", bad}, flags)...)
		}
		refused(t, found, slices.Concat([]string{"keys", "create", "--group", "chat", "--name", key}, flags)...)
		refused(t, found, slices.Concat([]string{"keys", "show", key}, flags)...)
		refused(t, found, slices.Concat([]string{"keys", "rotate", key}, flags)...)
		refused(t, found, slices.Concat([]string{"keys", "update", "canary-" + way, "--owner", key}, flags)...)
	}
	// A key that may not administer.
	refused(t, found, "keys", "list", "--server", r.GRPC, "--server-key-file", wrongFile)
}

// refused runs a command that must fail, and keeps what it says.
func refused(t *testing.T, found *leaks, args ...string) {
	t.Helper()
	out, err := server.Output("genway", args...)
	if err == nil {
		t.Errorf("genway %v: not refused: %s", args, out)
		return
	}
	_, output, _ := strings.Cut(err.Error(), "\n") // ahead of it are the arguments
	found.add("errors of the commands", output)
}
