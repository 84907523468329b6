package main

import (
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/genway/genway/cmd/internal/cli"
	"github.com/genway/genway/core/keys"
	"github.com/genway/genway/core/limit"
	"github.com/genway/genway/core/store"
)

// genway runs a command line on a data directory and returns what it printed.
func genway(t *testing.T, dir string, args ...string) (string, error) {
	t.Helper()
	var out strings.Builder
	err := genwayTo(t, dir, &out, args...)
	return out.String(), err
}

// genwayTo runs a command line on a data directory, which prints to an output.
func genwayTo(t *testing.T, dir string, output io.Writer, args ...string) error {
	t.Helper()
	command, err := program().Parse(append(slices.Clone(args), "--data", dir))
	if err != nil {
		return err
	}
	return command.Run(t.Context(), output)
}

func must(t *testing.T, dir string, args ...string) string {
	t.Helper()
	out, err := genway(t, dir, args...)
	if err != nil {
		t.Fatalf("%v: %v", args, err)
	}
	return out
}

// fixed replaces what differs from run to run.
func fixed(text string) string {
	for _, r := range [][2]string{
		{`key_[0-9A-Za-z]{12}`, "KEY"},
		{`\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z`, "TIME"},
		{`user:\S+`, "user:U"},
	} {
		text = regexp.MustCompile(r[0]).ReplaceAllString(text, r[1])
	}
	return regexp.MustCompile(` {2,}`).ReplaceAllString(text, "  ")
}

func expect(t *testing.T, got, want string) {
	t.Helper()
	if got, want := fixed(got), strings.TrimPrefix(want, "\n"); got != want {
		t.Errorf("got\n%swant\n%s", got, want)
	}
}

// Each limit is a flag, a line of keys show, a word of keys list and a column of an import.
func TestEachLimitIsAFlag(t *testing.T) {
	dir := t.TempDir()
	flags, columns, cells := []string{"keys", "create", "--group=chat", "--name=flags"}, "group,name", "chat,csv"
	for i, kind := range limit.Kinds {
		flags = append(flags, fmt.Sprintf("--%s=%d", strings.ReplaceAll(kind.Name, "_", "-"), 7+i))
		columns, cells = columns+","+kind.Name, fmt.Sprint(cells, ",", 7+i)
	}
	must(t, dir, flags...)
	file := filepath.Join(dir, "keys.csv")
	if err := os.WriteFile(file, []byte(columns+"\n"+cells+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	must(t, dir, "keys", "import", file)
	for _, name := range []string{"flags", "csv"} {
		shown, list := must(t, dir, "keys", "show", name), must(t, dir, "keys", "list")
		for i, kind := range limit.Kinds {
			if !regexp.MustCompile(fmt.Sprintf(`(?m)^%s +%d$`, kind.Words, 7+i)).MatchString(shown) || strings.Count(list, fmt.Sprint(7+i, " ", kind.Short)) != 2 {
				t.Errorf("%s, %s:\n%s\n%s", name, kind.Name, shown, list)
			}
		}
	}
}

func TestKeysCommands(t *testing.T) {
	dir := t.TempDir()
	raw := strings.TrimSuffix(must(t, dir, "keys", "create", "--group=chat", "--name=ci", "--owner=ada", "--labels=team=search,note=a\\,b",
		"--expire-time=2999-01-31", "--models=gpt-*, claude-4", "--addresses=10.0.0.0/8,::ffff:192.0.2.7", "--certificates=DNS:Billing.Example,uri:spiffe://example.org/ci", "--requests-per-minute=60",
		"--tokens-per-minute=1000", "--concurrent=2", "--budget-month=20", "--budget-day=1.5", "--strict"), "\n")
	if err := keys.Valid(raw); err != nil {
		t.Errorf("%q: %v", raw, err)
	}
	expect(t, must(t, dir, "keys", "list"), `
ID  GROUP  NAME  OWNER  CREATED  STATE  MAY
KEY  chat  ci  ada  TIME  live until TIME  models gpt-*,claude-4; from 10.0.0.0/8,192.0.2.7; with dns:billing.example,uri:spiffe://example.org/ci; 60 requests/min; 1000 tokens/min; 2 at once; $1.50/day; $20.00/month; strict
`)
	rotated := strings.TrimSuffix(must(t, dir, "keys", "rotate", "ci", "--grace=1h"), "\n")
	if err := keys.Valid(rotated); err != nil || rotated == raw {
		t.Errorf("%q: %v", rotated, err)
	}
	expect(t, must(t, dir, "keys", "show", "ci"), `
id  KEY
group  chat
name  ci
owner  ada
labels  note=a\,b,team=search
state  live until TIME
created  TIME
secrets  made TIME; made TIME, good until TIME
models  gpt-*,claude-4
addresses  10.0.0.0/8,192.0.2.7
certificates  dns:billing.example,uri:spiffe://example.org/ci
requests a minute  60
tokens a minute  1000
requests at once  2
budget a day  $1.50
budget a month  $20.00
strict  true
priority  interactive
`)
	must(t, dir, "keys", "update", "ci", "--owner=", "--labels=", "--expire-time=never", "--models=*", "--addresses=*", "--certificates=none",
		"--requests-per-minute=0", "--tokens-per-minute=0", "--concurrent=0", "--budget-day=none", "--budget-month=2", "--no-strict")
	expect(t, must(t, dir, "keys", "list", "--format=json"), `
[
  {
  "id": "KEY",
  "group": "chat",
  "name": "ci",
  "owner": "",
  "labels": {},
  "state": "live",
  "create_time": "TIME",
  "models": [],
  "addresses": [],
  "certificates": [],
  "limits": {
  "budgets": [
  {
  "amount": 2000000000,
  "period": "month"
  }
  ]
  },
  "strict": false,
  "priority": "interactive",
  "secrets": [
  {
  "create_time": "TIME"
  },
  {
  "create_time": "TIME",
  "expire_time": "TIME"
  }
  ]
  }
]
`)
	expect(t, must(t, dir, "keys", "revoke", "ci"), "revoked KEY (chat ci)\n")
	expect(t, must(t, dir, "audit", "list"), `
NUMBER  TIME  ACTOR  ACTION  SUBJECT  DETAIL
1  TIME  user:U  key.create  KEY  {"group":"chat","name":"ci","owner":"ada","labels":{"note":"a,b","team":"search"},"expire_time":"TIME","models":["gpt-*","claude-4"],"addresses":["10.0.0.0/8","192.0.2.7/32"],"certificates":["dns:billing.example","uri:spiffe://example.org/ci"],"limits":{"requests_per_minute":60,"tokens_per_minute":1000,"concurrent":2,"budgets":[{"amount":1500000000,"period":"day"},{"amount":20000000000,"period":"month"}]},"strict":true}
2  TIME  user:U  key.rotate  KEY  {"previous_expire_time":"TIME"}
3  TIME  user:U  key.update  KEY  {"owner":"","labels":null,"expire_time":null,"models":null,"addresses":null,"certificates":null,"limits":{"budgets":[{"amount":2000000000,"period":"month"}]},"strict":false}
4  TIME  user:U  key.revoke  KEY  -
`)
	// Case K2: no raw key, nor its hash, is printed but by what makes it.
	for _, args := range [][]string{
		{"keys", "list"}, {"keys", "list", "--format=json"}, {"keys", "show", "--format=json", keyID(t, dir)}, {"audit", "list", "--format=json"},
	} {
		out := must(t, dir, args...)
		for _, secret := range []string{raw, rotated} {
			hash := keys.Hash(secret)
			if strings.Contains(out, secret[4:12]) || strings.Contains(out, string(hash[:])) {
				t.Errorf("%v shows a key", args)
			}
		}
	}
}

func keyID(t *testing.T, dir string) string {
	t.Helper()
	return regexp.MustCompile(`key_\w{12}`).FindString(must(t, dir, "keys", "list"))
}

func TestKeysCommandsRefuse(t *testing.T) {
	dir := t.TempDir()
	raw := strings.TrimSuffix(must(t, dir, "keys", "create", "--group=chat", "--name=ci"), "\n")
	for _, c := range []struct {
		args string
		want string
	}{
		{"keys create --group=chat --expire-time=tomorrow", `--expire-time: "tomorrow" is no time`},
		{"keys create --group=chat --expire-time=2001-01-01", "expire_time: 2001-01-01T00:00:00Z is in the past"},
		{"keys create --group=chat --expire-time=2999-01-01 --ttl=1h", "can't be used together"},
		{"keys create --group=chat --addresses=10.0.0.1/8", `--addresses: "10.0.0.1/8" has bits behind its length`},
		{"keys create --group=chat --labels=a", `--labels: expected NAME=VALUE between commas, got "a"`},
		{"keys create --group=chat --labels=a=1,a=2", `--labels: "a" stands there twice`},
		{"keys create --group=chat --requests-per-minute=many", `--requests-per-minute: "many" is no number`},
		{"keys create --group=chat --certificates=billing.example", `--certificates: "billing.example" is no name of a certificate; write dns:NAME`},
		{"keys create --group=chat --certificates=dns:*.example", `a name is compared as a whole, so it cannot have a *`},
		{"keys create --group=chat --certificates=sha256:abc", `expected the 64 hexadecimal digits of a SHA-256`},
		{"keys create --group=chat --requests-per-minute=-1", "limits.requests_per_minute: expected 0 to"},
		{"keys create --group=chat --budget-day=0", "--budget-day: a budget is above 0; write none"},
		{"keys create --group=chat --budget-day=1,50", `--budget-day: "1,50" is no amount`},
		{"keys create --group=chat --budget-day=gwk_1", `--budget-day: [REDACTED] is no amount`},
		{"keys create --group=chat --models=a,,b", "models[1]: it is empty"},
		{"keys create --group=admin --models=a", "models: a key of the group admin cannot generate"},
		{"keys update ci", "nothing to change"},
		{"keys update nobody --owner=x", "no such key"},
		{"keys rotate ci --grace=9000h", "grace: expected 0 to 2160h0m0s"},
		{"keys show " + raw, "take it out of your shell's history"},
		{"keys create --group=chat --labels=" + raw, "--labels: expected NAME=VALUE between commas, got [REDACTED]"},
		{"audit verify --head=00", "--head: a hash has 64 hexadecimal digits"},
	} {
		_, err := genway(t, dir, strings.Fields(c.args)...)
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: got %v", c.args, err)
		}
		if err != nil && strings.Contains(err.Error(), raw[4:12]) {
			t.Errorf("%s: %v shows the key", c.args, err)
		}
	}
	if got := strings.Count(must(t, dir, "keys", "list"), "key_"); got != 1 {
		t.Errorf("%d keys, want 1", got)
	}
}

// The output of a verification is enough to prove later that nothing was cut off.
func TestAuditVerify(t *testing.T) {
	dir := t.TempDir()
	must(t, dir, "keys", "create", "--group=chat")
	head := regexp.MustCompile(`[0-9a-f]{64}`).FindString(must(t, dir, "audit", "verify"))
	must(t, dir, "keys", "create", "--group=chat")
	if out := must(t, dir, "audit", "verify", "--head", head); !strings.HasPrefix(out, "whole: 2 entries, head ") {
		t.Errorf("got %s", out)
	}
	other := t.TempDir()
	must(t, other, "keys", "create", "--group=chat")
	if _, err := genway(t, other, "audit", "verify", "--head", head); err == nil || !strings.Contains(err.Error(), "does not contain the known head") {
		t.Errorf("another audit: %v", err)
	}
}

func TestImportCommand(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "keys.csv")
	write(t, file, "\ufeffgroup,name,owner,labels,expire_time,models,addresses,certificates,requests_per_minute,tokens_per_minute,concurrent,budget_day,budget_month,strict\n"+
		"chat,one,ada,\"team=a,env=b\",2999-01-01,\"gpt-*,claude-4\",10.0.0.0/8,email:ada@Example.org,60,1000,2,1.5,20,yes\n"+
		"messages,,,,,,,,,,,,,\n\"generatecontent, chat\",both,,,,,,,,,,,,\n")
	if out := must(t, dir, "keys", "import", file, "--dry-run"); out != "3 keys would be made\n" {
		t.Errorf("dry: %s", out)
	}
	if made, err := filepath.Glob(filepath.Join(dir, store.FileName+"*")); err != nil || len(made) > 0 {
		t.Errorf("dry made %v, %v", made, err)
	}
	lines, err := csv.NewReader(strings.NewReader(must(t, dir, "keys", "import", file))).ReadAll()
	if err != nil || len(lines) != 4 || strings.Join(lines[0], ",") != "id,group,name,key" {
		t.Fatalf("got %v, %v", lines, err)
	}
	for i, want := range []string{"chat,one", "messages,", "chat,generatecontent,both"} {
		line := lines[i+1]
		if keys.Valid(line[3]) != nil || strings.Join(line[1:3], ",") != want {
			t.Errorf("line %d: %v", i+1, line)
		}
	}
	expect(t, must(t, dir, "keys", "list", "--owner=ada"), `
ID  GROUP  NAME  OWNER  CREATED  STATE  MAY
KEY  chat  one  ada  TIME  live until TIME  models gpt-*,claude-4; from 10.0.0.0/8; with email:ada@example.org; 60 requests/min; 1000 tokens/min; 2 at once; $1.50/day; $20.00/month; strict
`)
	if _, err := genway(t, dir, "keys", "import", file); err == nil || !strings.Contains(err.Error(), "keys.csv:2:6: name: it is taken: key_") {
		t.Errorf("again: %v", err)
	}
}

// Whatever is wrong is named by its line and column, and nothing is made.
func TestImportCommandRefuses(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "k.csv")
	for _, c := range []struct{ name, text, want string }{
		{"empty", "", "k.csv:1:1: the file is empty"},
		{"no group", "name\nx\n", "k.csv:1:1: the column group is missing"},
		{"unknown column", "group,rpm\nchat,1\n", `k.csv:1:7: no column is named "rpm"; there are group, name, owner,`},
		{"column twice", "group,name,name\n", `k.csv:1:12: column "name" stands there twice`},
		{"secrets", "group,key\nchat,gwk_1\n", `k.csv:1:7: no column is named "key"`},
		{"short row", "group,name\nchat\n", "k.csv:2:1: wrong number of fields"},
		{"quote", "group,name\nchat,\"x\n", "k.csv:"},
		{"figure", "group,name,concurrent\nchat,a,1\nchat,b,x\n", `k.csv:3:8: concurrent: "x" is no number`},
		{"behind a long cell", "group,labels,owner\nchat,\"a=1,\nb=2\",\" \"\nchat,c=1, x\nnobody,,\n", "k.csv:5:1: group: unknown group"},
		{"member of a list", "group,models\nchat,\"a,,b\"\n", "k.csv:2:6: models[1]: it is empty"},
		{"limit", "group,name,tokens_per_minute\nchat,ä,-5\n", "k.csv:2:9: limits.tokens_per_minute: expected 0 to"},
		{"twice", "group,name\nchat,a\nmessages,a\nchat,a\n", "k.csv:4:6: name: it is taken: another key of the import has it"},
		{"group twice", "name,group\na,\"chat,chat\"\n", "k.csv:2:3: group: the group chat is there twice"},
		{"groups that are not combined", "name,group\na,\"chat,internal\"\n", "k.csv:2:3: group: a key of the group internal has no other group"},
		{"several twice", "group,name\n\"chat,messages\",a\n\"messages,generatecontent\",a\n", "k.csv:3:28: name: it is taken: another key of the import has it"},
		{"member of no column", "group\nadmin\nnobody\n", "k.csv:3:1: group: unknown group"},
	} {
		write(t, file, c.text)
		out, err := genway(t, dir, "keys", "import", file)
		if err == nil || out != "" || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: got %q, %v", c.name, out, err)
		}
	}
	if list := must(t, dir, "keys", "list"); strings.Contains(list, "key_") {
		t.Errorf("it made %s", list)
	}
	if _, err := genway(t, dir, "keys", "import", filepath.Join(dir, "none")); err == nil {
		t.Error("no file: no error")
	}
}

// Commands that read or change a store never create one: a mistyped directory is an error.
func TestMissingStore(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "typo")
	for _, line := range []string{
		"keys list", "keys show a", "keys update a --owner b", "keys rotate a", "keys revoke a", "audit list", "audit verify",
		"usage", "ledger check", "ledger prune --before 2026-01-01",
	} {
		out, err := genway(t, dir, strings.Fields(line)...)
		if out != "" || !errors.Is(err, store.ErrMissing) || !strings.Contains(err.Error(), filepath.Join(dir, store.FileName)) {
			t.Errorf("%s: %q, %v", line, out, err)
		}
		if _, err := os.Stat(dir); err == nil {
			t.Fatalf("%s made the directory", line)
		}
	}
	must(t, dir, "keys", "create", "--group=chat", "--name=ci")
	if out := must(t, dir, "keys", "list"); !strings.Contains(out, "ci") {
		t.Errorf("%s", out)
	}
}

// A name is taken once in its group, and a key is named as GROUP/NAME where its name alone
// is not enough.
func TestTakenNames(t *testing.T) {
	dir := t.TempDir()
	for _, group := range []string{"chat", "messages"} {
		must(t, dir, "keys", "create", "--group="+group, "--name=ci")
	}
	if _, err := genway(t, dir, "keys", "create", "--group=chat", "--name=ci"); err == nil || !strings.Contains(err.Error(), "name: it is taken: key_") {
		t.Errorf("taken: %v", err)
	}
	if _, err := genway(t, dir, "keys", "revoke", "ci"); err == nil || !strings.Contains(err.Error(), "GROUP/NAME") {
		t.Errorf("ambiguous: %v", err)
	}
	if out := must(t, dir, "keys", "revoke", "messages/ci"); !strings.Contains(out, "(messages ci)") {
		t.Errorf("%s", out)
	}
	must(t, dir, "keys", "create", "--group=messages", "--name=ci")
}

func TestStates(t *testing.T) {
	now := time.Date(2026, 3, 1, 0, 0, 0, 0, time.UTC)
	before, after := now.Add(-time.Hour), now.Add(time.Hour)
	for want, key := range map[string]keys.Key{
		"live":                            {},
		"live until 2026-03-01T01:00:00Z": {Settings: keys.Settings{ExpireTime: &after}},
		"expired 2026-02-28T23:00:00Z":    {Settings: keys.Settings{ExpireTime: &before}},
		"revoked 2026-02-28T23:00:00Z":    {Settings: keys.Settings{ExpireTime: &before}, RevokeTime: &before},
	} {
		if got := state(key, now); got != want {
			t.Errorf("got %s, want %s", got, want)
		}
	}
	ended := keys.Key{Secrets: []keys.Secret{{CreateTime: now}, {CreateTime: before, ExpireTime: &before}}}
	if got, want := secretsText(ended, now), "made 2026-03-01T00:00:00Z; made 2026-02-28T23:00:00Z, ended 2026-02-28T23:00:00Z"; got != want {
		t.Errorf("got %s", got)
	}
}

// A text of somebody's in the audit cannot draw on a terminal.
func TestPlain(t *testing.T) {
	if got := plain("a\x1b[2Jb"); got != `a\x1b[2Jb` {
		t.Errorf("got %q", got)
	}
	if got := plain(`{"ü":"\n"}`); got != `{"ü":"\n"}` {
		t.Errorf("got %q", got)
	}
}

func write(t *testing.T, file, text string) {
	t.Helper()
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

func TestUsageErrors(t *testing.T) {
	dir := t.TempDir()
	for _, args := range []string{"keys update ci", "keys create --group=chat --concurrent=x", "audit verify --head=1"} {
		if _, err := genway(t, dir, strings.Fields(args)...); err == nil {
			t.Errorf("%s: no error", args)
		} else if _, ok := errors.AsType[cli.UsageError](err); !ok {
			t.Errorf("%s: %v is not a usage error", args, err)
		}
	}
}

// An empty flag, as of a variable of the shell's that is not set, bounds nothing by mistake: it is an error that says what
// to write. What is only a text of the operator's may be empty.
func TestEmptyFlags(t *testing.T) {
	dir := t.TempDir()
	create := []string{"keys", "create", "--group=chat", "--name=ci", "--owner=ada", "--labels=a=b", "--expire-time=2999-01-01", "--models=m", "--addresses=10.0.0.1", "--certificates=dns:a.example", "--requests-per-minute=1",
		"--tokens-per-minute=2", "--concurrent=3", "--budget-day=4", "--budget-month=5", "--priority=batch", "--capture-until=1h", "--capture-share=0.5", "--capture-max-bytes=9", "--capture-redact=content"}
	must(t, dir, create...)
	before := must(t, dir, "keys", "show", "ci")
	words := map[string]string{
		"expire-time": "never", "models": "*", "addresses": "*", "certificates": "none", "requests-per-minute": "0", "tokens-per-minute": "0", "concurrent": "0",
		"budget-day": "none", "budget-month": "none", "priority": "interactive", "capture-share": "1", "capture-max-bytes": "65536", "capture-redact": "none", "capture-until": "none",
	}
	for flag, word := range words {
		for _, empty := range []string{"", " "} {
			out, err := genway(t, dir, "keys", "update", "ci", "--"+flag+"="+empty)
			if err == nil || out != "" || empty == "" && !strings.Contains(err.Error(), "--"+flag+": it is empty; write "+word+" ") {
				t.Errorf("--%s=%q: %q, %v", flag, empty, out, err)
			}
			if out, err := genway(t, dir, "keys", "create", "--group=chat", "--"+flag+"="+empty); err == nil || out != "" {
				t.Errorf("create --%s=%q: %q, %v", flag, empty, out, err)
			}
		}
	}
	if after := must(t, dir, "keys", "show", "ci"); after != before {
		t.Errorf("before\n%safter\n%s", before, after)
	}
	all := []string{"keys", "update", "ci", "--labels=", "--owner="}
	for flag, word := range words {
		if flag == "capture-until" || !strings.HasPrefix(flag, "capture") {
			all = append(all, "--"+flag+"="+word)
		}
	}
	must(t, dir, all...)
	if list := must(t, dir, "keys", "list"); !strings.HasSuffix(strings.TrimSpace(list), "  live   -") {
		t.Errorf("emptied: %s", list)
	}
}

// An end of a key is a time that can be written: beyond the year 9999 of UTC it is an error by its name, for all commands.
func TestExpiryBeyond9999(t *testing.T) {
	dir, csv := t.TempDir(), filepath.Join(t.TempDir(), "k.csv")
	must(t, dir, "keys", "create", "--group=chat", "--name=ci", "--expire-time=9999-12-31T23:59:59Z")
	for _, late := range []string{"9999-12-31T23:59:59-00:01", "9999-12-31T10:00:00-23:00"} {
		write(t, csv, "group,expire_time\nchat,"+late+"\n")
		for _, args := range [][]string{{"keys", "create", "--group=chat", "--expire-time=" + late}, {"keys", "update", "ci", "--expire-time=" + late}, {"keys", "import", csv}} {
			if out, err := genway(t, dir, args...); err == nil || out != "" || !strings.Contains(err.Error(), "expire_time: expected a time up to the end of the year 9999") {
				t.Errorf("%v: %q, %v", args, out, err)
			}
		}
	}
	for _, far := range []string{"--ttl=2562047h", "--expire-time=9999-12-31T23:59:59.999999Z", "--expire-time=9999-12-31T23:59:59+23:59"} {
		must(t, dir, "keys", "update", "ci", far)
	}
	must(t, dir, "keys", "list", "--format=json")
}
