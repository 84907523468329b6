package target

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

func peersFile(t *testing.T, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "peers.yaml")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// A peer is started by its argv, with the bench's addresses in its arguments, variables and files.
func TestPeers(t *testing.T) {
	peers, err := Peers(peersFile(t, `
peers:
  - name: other
    title: Other 1.2
    argv: [/opt/other, --listen, "${ADDRESS}", --config, "${DIR}/etc/config.yaml"]
    env: ["OTHER_UPSTREAM=${UPSTREAM}"]
    files: {etc/config.yaml: "url: http://${UPSTREAM}/v1\n"}
    headers: {Authorization: Bearer sk}
    model: own/model
    callers: [chat, messages]
    models: {chat: own/chat}
  - {name: fixed, argv: [fixed], address: "127.0.0.1:4000"}
`))
	if err != nil || len(peers) != 2 {
		t.Fatal(peers, err)
	}
	dir := t.TempDir()
	plan, err := peers[0].Prepare(t.Context(), Site{Dir: dir, Upstream: "127.0.0.1:9", Core: 1})
	if err != nil {
		t.Fatal(err)
	}
	config, err := os.ReadFile(filepath.Join(dir, "etc", "config.yaml"))
	if err != nil || string(config) != "url: http://127.0.0.1:9/v1\n" {
		t.Errorf("%q, %v", config, err)
	}
	c := plan.Commands[0]
	if c.Path != "/opt/other" || !slices.Equal(c.Args, []string{"--listen", plan.Address, "--config", dir + "/etc/config.yaml"}) || !slices.Equal(c.Env, []string{"OTHER_UPSTREAM=127.0.0.1:9"}) || c.Core != 1 {
		t.Errorf("%+v", c)
	}
	for _, pair := range []struct {
		caller, served string
		takes          bool
	}{{"chat", "", true}, {"chat", "chat", true}, {"messages", "chat", true}, {"chat", "messages", false}, {"images", "", false}, {"responses", "chat", false}} {
		if got := peers[0].Peer.Takes(pair.caller, pair.served); got != pair.takes {
			t.Errorf("%+v: %v", pair, got)
		}
	}
	if plan, err = peers[1].Prepare(t.Context(), Site{Dir: dir}); err != nil || plan.Address != "127.0.0.1:4000" || peers[1].Title != "fixed" {
		t.Error(plan, err)
	}
	if picked, err := Named([]string{"fixed", Nginx}, peers...); err != nil || len(picked) != 2 || picked[1].Name != "fixed" {
		t.Error(picked, err)
	}
}

// A file that cannot be meant so is refused with its name; none at all is no error, nor is the one
// in the repository.
func TestPeersRefused(t *testing.T) {
	for text, problem := range map[string]string{
		"peers: [{name: x}]":                                   "argv: a program is needed",
		"peers: [{name: x, argv: ['']}]":                       "argv: a program is needed",
		"peers: [{argv: [a]}]":                                 `name ""`,
		"peers: [{name: ../x, argv: [a]}]":                     `name "../x"`,
		"peers: [{name: nginx, argv: [a]}]":                    "another target has it",
		"peers: [{name: x, argv: [a]}, {name: x, argv: [a]}]":  "peer 2",
		"peers: [{name: x, argv: [a], callers: [soap, chat]}]": `protocol "soap"`,
		"peers: [{name: x, argv: [a], callers: [messages]}]":   "chat must be among them",
		"peers: [{name: x, argv: [a], models: {soap: y}}]":     `protocol "soap"`,
		"peers: [{name: x, argv: [a], files: {../y: z}}]":      "not inside",
		"peers: [null]":                          "it is empty",
		"peers: [{name: x, argv: [a], port: 3}]": "unknown field",
		"peers: [{name: x, name: y, argv: [a]}]": "already defined",
		"peers: {name: x}":                       "peers.yaml",
		"\x00":                                   "peers.yaml",
	} {
		if _, err := Peers(peersFile(t, text)); err == nil || !strings.Contains(err.Error(), problem) || !strings.Contains(err.Error(), "peers.yaml") {
			t.Errorf("%s: %v, want %s", text, err, problem)
		}
	}
	for _, path := range []string{filepath.Join(t.TempDir(), "none.yaml"), filepath.Join("..", "peers.yaml")} {
		if peers, err := Peers(path); err != nil || len(peers) > 0 {
			t.Error(path, peers, err)
		}
	}
}
