package main

import (
	"crypto/sha256"
	"encoding/csv"
	"encoding/hex"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/genway/genway/cmd/internal/cli"
	"github.com/genway/genway/cmd/internal/coreproc"
	"github.com/genway/genway/cmd/internal/edgeproc"
	"github.com/genway/genway/test/servers"
	"github.com/jackc/pgx/v5"
)

// hashed is the SHA-256 of a key of LiteLLM's, as its table has it.
func hashed(raw string) string {
	sum := sha256.Sum256([]byte(raw))
	return hex.EncodeToString(sum[:])
}

// litellmTables are the tables of LiteLLM that docs/examples/moving/litellm-keys.sql reads, with the columns that it reads,
// as LiteLLM's schema.prisma types them.
//
//nolint:dupword // SQL
const litellmTables = `
CREATE TABLE "LiteLLM_BudgetTable" (budget_id TEXT PRIMARY KEY, max_budget DOUBLE PRECISION, max_parallel_requests INTEGER, tpm_limit BIGINT, rpm_limit BIGINT, budget_duration TEXT);
CREATE TABLE "LiteLLM_TeamTable" (team_id TEXT PRIMARY KEY, team_alias TEXT, models TEXT[]);
CREATE TABLE "LiteLLM_VerificationToken" (token TEXT PRIMARY KEY, key_alias TEXT, expires TIMESTAMP(3), models TEXT[], user_id TEXT, team_id TEXT,
	max_parallel_requests INTEGER, tpm_limit BIGINT, rpm_limit BIGINT, max_budget DOUBLE PRECISION, budget_duration TEXT, blocked BOOLEAN, budget_id TEXT);
INSERT INTO "LiteLLM_BudgetTable" VALUES ('b1', 50, NULL, NULL, 600, '7d');
INSERT INTO "LiteLLM_TeamTable" VALUES ('t1', 'search', ARRAY['gpt-5.2', 'claude-*']), ('t2', NULL, '{}');
`

// The keys of LiteLLM go on to work, with their limits, in the SDKs of all protocols: docs/moving.md from its table to a request.
func TestKeysOfLiteLLM(t *testing.T) {
	url := servers.PostgresDatabase(t)
	conn, err := pgx.Connect(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(t.Context())
	if _, err := conn.Exec(t.Context(), litellmTables); err != nil {
		t.Fatal(err)
	}
	for _, k := range []struct{ raw, columns, values string }{
		{"sk-team", "key_alias, models, user_id, team_id, max_parallel_requests, tpm_limit, rpm_limit, max_budget, budget_duration", `'ada', ARRAY['all-team-models'], 'u1', 't1', 3, 100000, 2, 12.5, '30d'`},
		{"sk-user", "expires, models, user_id, blocked, budget_id", `'2999-01-02 03:04:05', ARRAY['a,b', 'gpt-5.2'], 'bob', false, 'b1'`},
		{"sk-all", "key_alias, models, team_id, max_budget, budget_duration", `'open', ARRAY['all-proxy-models'], 't2', 3, '24h'`},
		{"sk-blocked", "key_alias, models, blocked", `'x1', '{}', true`},
		{"sk-expired", "key_alias, models, expires", `'x2', '{}', '2020-01-01'`},
		{"sk-nothing", "key_alias, models, tpm_limit", `'x3', '{}', 0`},
		{"sk-session", "key_alias, models, team_id", `'x4', '{}', 'litellm-dashboard'`},
	} {
		if _, err := conn.Exec(t.Context(), fmt.Sprintf(`INSERT INTO "LiteLLM_VerificationToken" (token, %s) VALUES ('%s', %s)`, k.columns, hashed(k.raw), k.values)); err != nil {
			t.Fatal(err)
		}
	}
	query, err := os.ReadFile(filepath.Join("..", "..", "docs", "examples", "moving", "litellm-keys.sql"))
	if err != nil {
		t.Fatal(err)
	}
	var table strings.Builder
	if _, err := conn.PgConn().CopyTo(t.Context(), &table, string(query)); err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	file := filepath.Join(dir, "keys.csv")
	write(t, file, table.String())
	if out := must(t, dir, "keys", "import", "--hashes", file, "--dry-run"); out != "3 keys would be made\n" {
		t.Fatal(out, table.String())
	}
	lines, err := csv.NewReader(strings.NewReader(must(t, dir, "keys", "import", "--hashes", file))).ReadAll()
	if err != nil || len(lines) != 4 || strings.Join(lines[0], ",") != "id,group,name" {
		t.Fatal(lines, err)
	}
	listed := regexp.MustCompile(` +\n`).ReplaceAllString(must(t, dir, "keys", "list"), "\n")
	for _, want := range []string{
		`chat,messages,generatecontent +ada +search +\S+ +live +models gpt-5.2,claude-\*; 2 requests/min; 100000 tokens/min; 3 at once; \$12.50/month`,
		`- +bob +\S+ +live until 2999-01-02T03:04:05Z +models a,b,gpt-5.2; 600 requests/min`,
		`open +t2 +\S+ +live +\$3.00/day`,
	} {
		if !regexp.MustCompile(want).MatchString(listed) {
			t.Errorf("want %s in\n%s", want, listed)
		}
	}
	if shown := must(t, dir, "keys", "show", lines[1][0]); !strings.Contains(shown, "foreign=sha256,litellm.budget=50/7d") {
		t.Errorf("a budget of a week is lost: %s", shown)
	}
	if _, err := genway(t, dir, "keys", "import", "--hashes", file); err == nil || !strings.Contains(err.Error(), "keys.csv: a key of it is in the store already") && !strings.Contains(err.Error(), "name: it is taken") {
		t.Errorf("again: %v", err)
	}

	must(t, dir, "keys", "update", "ada", "--models=*", "--budget-month=none")
	for _, prefixes := range [][]string{{"sk-"}, nil} {
		client, _, end, ended := running(t, serveCommand{
			CoreFlags: coreproc.CoreFlags{Data: coreproc.Data{Dir: dir}, Grace: time.Second, TextModel: "sandbox-text", ImageModel: "sandbox-image", ForeignKeys: prefixes},
			EdgeFlags: edgeproc.EdgeFlags{WriteTimeout: time.Minute}, Log: cli.Log{Format: "text"},
		})
		ask := func(path, header, key, body string) int {
			t.Helper()
			req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "http://localhost"+path, strings.NewReader(body))
			if err != nil {
				t.Fatal(err)
			}
			req.Header.Set(header, key)
			req.Header.Set("Content-Type", "application/json")
			req.Header.Set("Anthropic-Version", "2023-06-01")
			resp, err := client.Do(req)
			if err != nil {
				t.Fatal(err)
			}
			defer resp.Body.Close()
			_, _ = io.Copy(io.Discard, resp.Body)
			return resp.StatusCode
		}
		chat := func(key string) int {
			return ask("/v1/chat/completions", "Authorization", "Bearer "+key, `{"model":"sandbox-text","messages":[{"role":"user","content":"hi"}]}`)
		}
		if prefixes == nil {
			if got := chat("sk-team"); got != http.StatusUnauthorized {
				t.Errorf("without its prefix: %d", got)
			}
		} else {
			for i, want := range []int{http.StatusOK, http.StatusOK, http.StatusTooManyRequests} { // two a minute, by whichever protocol
				if got := []func() int{
					func() int { return chat("sk-team") },
					func() int {
						return ask("/v1/messages", "X-Api-Key", "sk-team", `{"model":"sandbox-text","max_tokens":9,"messages":[{"role":"user","content":"hi"}]}`)
					},
					func() int {
						return ask("/v1beta/models/sandbox-text:generateContent", "X-Goog-Api-Key", "sk-team", `{"contents":[{"parts":[{"text":"hi"}]}]}`)
					},
				}[i](); got != want {
					t.Errorf("request %d: %d, want %d", i, got, want)
				}
			}
			for _, key := range []string{"sk-teal", "sk-blocked", "sk-", "sk-" + strings.Repeat("a", 300), "team", hashed("sk-team")} {
				if got := chat(key); got != http.StatusUnauthorized {
					t.Errorf("%.20s: %d", key, got)
				}
			}
		}
		end()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	}
}

// All mistakes of a file are named at once; a hash is none, and a key in its place is not repeated.
func TestImportNamesAllMistakes(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "k.csv")
	a, b := hashed("sk-a"), hashed("sk-b")
	for text, want := range map[string]string{
		"sha256,group,name,concurrent\n" + a + ",chat,one,x\nsk-secret,chat,two,1\n" + a + ",chat,three,-1\n" + b + ",nobody, ,1\n" + a[:63] + ",chat,,1\n": `k.csv has 5 mistakes; nothing was imported
k.csv:2:75: concurrent: "x" is no number; 0 is no bound
k.csv:3:1: sha256: expected 64 hexadecimal digits
k.csv:4:77: limits.concurrent: expected 0 to 1000000000, got -1
k.csv:5:66: group: unknown group "nobody": want one of chat, messages, generatecontent, internal, admin
k.csv:6:1: sha256: expected 64 hexadecimal digits
`,
		"sha256,group\n" + a + ",chat\n" + strings.ToUpper(a) + ",chat\n": "k.csv:3:1: sha256: line 2 has the same key; nothing was imported\n",
		"group\nchat\n": "k.csv:1:1: the column sha256 is missing; nothing was imported\n",
		"sha256,group\n" + strings.Repeat("0", 64) + ",chat\n": "k.csv:2:1: secret_sha256: expected the SHA-256 of a key; nothing was imported\n",
		"sha256,group\n" + strings.Repeat("x,chat\n", 200):     "k.csv has 100 mistakes or more; nothing was imported\n",
		"sha256,group\n,\n\"":                                  "k.csv has 2 mistakes; nothing was imported\n",
	} {
		write(t, file, text)
		out, err := genway(t, dir, "keys", "import", "--hashes", file)
		if err == nil || out != "" || !strings.Contains(strings.ReplaceAll(err.Error()+"\n", file, "k.csv"), want) {
			t.Errorf("got %q, %v, want %s", out, err, want)
		}
		if err != nil && strings.Contains(err.Error(), "sk-secret") {
			t.Errorf("it repeats a key: %v", err)
		}
	}
}
