package programs

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/genway/genway/test/conformance/caller"
	"github.com/genway/genway/test/conformance/rows"
	"github.com/genway/genway/test/conformance/server"
	"github.com/genway/genway/test/conformance/vendors"
)

func TestMain(m *testing.M) { server.Main(m, nil) }

// Case is one named case.
type Case struct {
	ID string
	// Proves is the promise in one line.
	Proves string
	Run    func(*testing.T, stores)
}

func TestCases(t *testing.T) { //nolint:tparallel // what measures memory, or a load, runs by itself
	postgres := server.StartPostgres(t)
	each := stores{
		"SQLite":     func(t *testing.T) string { t.Helper(); return t.TempDir() },
		"PostgreSQL": func(t *testing.T) string { t.Helper(); return postgres.Database(t) },
	}
	for _, c := range []Case{ // what measures memory, or a load, runs by itself
		{"K8", "images of 20 MB, sent and drawn one after the other, leave the programs' memory as it was", flatMemory},
		{"N30", "messages that strangers send in part to the gRPC port cost the core no memory, be it without a key, with a wrong one or to the services that need none; nor do those of one good key, or its answers that are not taken, and another key is served", halfSentMessages},
		{"N50", "when one of several cores is killed under load, only calls that were in flight on it fail, none is begun twice, and it gets calls again when it is back", killedCores},
		{"N51", "a core that hangs holds the calls it has, and all others go to the other cores; it gets calls again when it goes on", hungCores},
		{"C5", "a response that one core has stored is fetched, listed, continued and deleted at another, also when the first was killed as soon as it had answered, by the key it was made for, rotated too, and by no other key", storedResponses},
		{"C7", "a response in the background at one core is fetched and cancelled at another; when its core is killed it has failed, with a reason, and its request is in the ledger once", backgroundResponses},
		{"N52", "cores that end properly and come back, one after the other, cost no call under load, and open streams end whole", restartedCores},
		{"N53", "a core that is not there, accepts connections and says nothing, or says by its health service that it does not serve gets no call, and costs none", silentCores},
		{"N54", "cores that join and leave a name of DNS get their calls within 30 s; while DNS is away the edge goes on with those it knows", joiningCores},
		{"N56", "a call that a core refuses unread, since it cannot reach its store, goes to another core, which alone has it in its books", refusingCores},
		{"N60", "answers of upstreams that inflate, flood or cost more decoded than they are long stay inside one budget of memory for the process, and fail natively", boundedBombs},
		{"N72", "a process that has no memory left refuses callers of all protocols natively, with Retry-After and the request's identifier, and logs one line a second, in one process and two", nativeRefusals},
		{"N73", "while the memory for bodies is mostly held by uploads, requests of batch keys are refused and those of interactive keys served; afterwards all are", batchFirst},
		{"N4", "connections beyond the bound of an address are closed at once, on both ports; those of others are served, and log and metrics tell", boundedConnections},
		{"N2", "floods of HTTP/2 on the JSON side, from strangers, end their connections; a healthy caller is answered beside them, and memory stays", floodedEdge},
		{"N3", "floods of HTTP/2 on the gRPC port, from strangers, end their connections; a healthy caller is answered beside them, and memory stays", floodedPort},
		{"N80", "a direct message of 100 MB of one letter is answered within seconds, and one that a caller's share of the memory can never hold is refused for good", largeMessages},
	} {
		t.Run(c.ID, func(t *testing.T) {
			t.Attr("proves", c.Proves)
			c.Run(t, each)
		})
	}
	for _, c := range []Case{ // most of these wait
		{"K1", "no key of a caller, of an upstream or of a database is in a log, an error, a header or a row, be it sent in a header or as ?key=, good or wrong; no prompt and no answer is in a log, a row, a metric, a trace or a page for debugging", noSecretLeaks},
		{"X85", "bodies of a key that is to be captured are in the store encrypted, and shown to the key that may read them alone, whose readings are in the audit; keys of the key file are replaced while the programs serve, in one process and two; X89: so are those of a route, as its rule in the configuration says, and no others", capturedBodies},
		{"K3", "of 1,000 requests at once a budget admits exactly those it covers, then more as far as the rest of it goes, and the ledger's costs are what is spent", exactBudgets},
		{"K4", "cores that share a Redis share budgets and limits: two admit what one would", sharedBudgets},
		{"K20", "what was spent while a budget was removed counts when it is set again, and once, on one core and on two that share a Redis, after a Redis came back empty, and after a restart", keptBudgets},
		{"K21", "an answer to a request without a maximum ends where the budget ends, in the words of the caller's protocol, through upstreams of each kind, also when several come at once, on one core and on two that share a Redis", answersEndWithTheBudget},
		{"K5", "every way to an upstream has the one admission: all paths and RPCs, unary, streamed, images and counts, and no model is no way round", onePoint},
		{"R11", "second turns go to the account of the first on routes with two accounts, native and translated, through an edge and a core; what a vendor refuses or leaves out, and what is left out for it, is in metrics and logs", secondTurns},
		{"K6", "the ledger of a caller who left has what the upstream told or was seen until then, or by the operator's choice all of its answer", leaversPay},
		{"M20", "answers that broke off cost what the ledger says, by which budgets go on after a restart, in one process and on two cores that share a Redis", brokenOffPays},
		{"M23", "what is billed beside the totals of usage, by other terms or by call costs what the ledger and the reports say, with the budget removed and set again, over restarts, in one process and on two cores whose Redis comes back empty; what a budget cannot pay is refused", billsArePaid},
		{"K7", "a request that fell back is one row, with the upstream, the tokens and the price of the one that answered", fallbackPays},
		{"K9", "a configuration that was cut off in writing changes nothing; size limits are explicit and told", halfConfigurations},
		{"K11", "there is no default credential: the programs, freshly installed, are closed to whoever has no key made there", noDefaults},
		{"O1", "models that upstreams say they serve are listed in every protocol's shape, as far as routes and keys lead to them; an upstream that fails, hangs or talks nonsense keeps its last list and holds nobody up", discoveredModels},
		{"M1", "no maximum of tokens, alone or times the answers asked for, switches a budget off or locks a model for others: what can never fit is refused at once and takes nothing", absurdClaims},
		{"O4", "a server without keys says how to make one, two that start at once make the first keys once, a mistyped data directory is told and not made, and a name is taken once in its group", missingKeys},
		{"O5", "a key whose output is closed or full is not made, rotated or ended, and the command fails, on both kinds of store", keysGetOut},
		{"O2", "the logs have the model asked for and the one that answered, the route, and durations in seconds; a refused caller's protocol is its own, a strict refusal is no attempt, and probes of health are not logged", operatorsLog},
		{"O3", "a file with an upstream's key is followed without a reload; one that is empty or no key changes nothing", followedKeys},
		{"V18", "an upstream's key is rotated by its file under load, however the file is written, and no request fails; while the file is gone the old key stays", rotatedKeys},
		{"N31", "an edge without a core is not ready but alive, and so is a core that is about to end", noCore},
		{"N32", "a full disk is told by readiness, which names the part that fails, until there is room again", fullDisk},
		{"N33", "in their shutdown delay the programs are not ready and serve, with connections closed behind answers; a second signal ends it, and streams end whole", shutdownDelay},
		{"N55", "an edge refuses targets of cores that cannot be meant at start, each by its name", wrongTargets},
		{"N63", "a server whose data is on a read-only file system ends with exit code 1 and one line that names the directory, leaves no file behind, and starts once it can be written again", readOnlyFolder},
		{"K12", "an upstream's 201 is success, for the ledger too", createdPays},
		{"N1", "what is behind a request whose end two readers may see in two places, by its length, its coding or its version, is never answered, wherever it is cut", smuggledRequests},
		{"N20", "the JSON side speaks TLS 1.2 and later with HTTP/2 and HTTP/1.1, with several certificates told apart by name; a file that is wrong stops the start and says why, one that has expired is warned of", encryptedEdge},
		{"N21", "certificates, keys and authorities of all sides of an edge and a core take effect while they serve; a broken file keeps the old certificate and is logged once", rotatedCertificates},
		{"N22", "a key that names client certificates is good only for callers who show one of them, by a name or its fingerprint, in one process and two; headers say nothing of it", boundKeys},
		{"N25", "a direct caller's certificate is that of its connection, whatever its metadata says, and makes no edge; an authority that is taken out of --edge-ca makes none on open connections either", boundDirectCallers},
		{"N23", "behind a balancer that speaks the PROXY protocol, in cleartext and with TLS, keys and bounds go by the caller's address; strangers cannot speak it, and X-Forwarded-For counts only from a caller that is a trusted proxy", proxiedCallers},
		{"N83", "a body that is announced and never sent is not waited for: without a key, with a wrong one and where none is needed, the answer comes and the connection ends, whatever the request expects", unsentBodies},
		{"N74", "bodies that strangers announce, and compressed ones that inflate, cost the programs no memory: requests without a good key are refused by their heads", costlessStrangers},
		{"N75", "an escaped slash is no slash of a path, a space of another alphabet is a part of a key, and two keys in one request are none, over HTTP and gRPC", exactNames},
		{"N76", "callers who announce bodies and send none do not hold up the end of the programs beyond the grace", unansweredBodies},
		{"N77", "a request over HTTP/2 that is malformed or whose head is too large is refused or its stream reset, and its connection serves on", refusedStreams},
		{"N81", "damaged pages of a store are told at start, and by a server that met them while it serves: by its log, its metrics and its readiness", damagedPages},
		{"N85", "a store whose tables were dropped is refused at start and by commands, with exit code 1 and the name of each missing table, on both kinds of store", missingTables},
		{"N24", "the first keys are printed on a terminal alone; elsewhere they are in a file for the server's user, which the log names and nothing overwrites", keptKeys},
	} {
		t.Run(c.ID, func(t *testing.T) {
			t.Attr("proves", c.Proves)
			t.Parallel()
			c.Run(t, each)
		})
	}
}

// stores make data for a server, on each kind of store.
type stores map[string]func(*testing.T) string

// each runs a test on each kind.
func (s stores) each(t *testing.T, test func(t *testing.T, data string)) {
	t.Helper()
	for _, kind := range []string{"SQLite", "PostgreSQL"} {
		t.Run(kind, func(t *testing.T) { test(t, s[kind](t)) })
	}
}

// rig is a gateway before fake vendors.
type rig struct {
	*server.Server
	vendors *vendors.Server
	client  *caller.Client
	db      *rows.Database
	file    string // the configuration's
}

// start starts a rig on data; more is put at the end of its configuration.
func start(t *testing.T, options server.Options, more string) *rig {
	t.Helper()
	r := &rig{vendors: vendors.Start(t)}
	dir := t.TempDir()
	prices := filepath.Join(dir, "prices.yaml")
	r.file = filepath.Join(dir, "genway.yaml")
	write(t, prices, vendors.Prices)
	write(t, r.file, r.vendors.Upstreams(upstreamKey)+"prices: "+prices+"\n"+more)
	options.Args = append([]string{"--config", r.file}, options.Args...)
	r.Server = server.Start(t, options)
	c, err := caller.New(r.URL(), r.GRPC)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	r.client, r.db = c, rows.Open(t, r.Data)
	return r
}

// upstreamKey is what the gateway shows the vendors.
const upstreamKey = "canary-key-of-the-upstream"

func write(t *testing.T, file, text string) {
	t.Helper()
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// call makes a call and returns what was seen.
func (r *rig) call(t *testing.T, call caller.Call) caller.Seen {
	t.Helper()
	if call.Key == "" {
		call.Key = r.Keys[caller.Group(call.Protocol)]
	}
	seen, err := r.client.Do(t.Context(), call)
	if err != nil {
		t.Fatal(err)
	}
	return seen
}

// row waits for the terminal row of the request of a number, and demands that it is one.
func (r *rig) row(t *testing.T, n int) rows.Row {
	t.Helper()
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for deadline := time.Now().Add(3 * time.Minute); ; <-tick.C {
		var found []rows.Row
		for _, row := range r.db.Ledger(t) {
			if vendors.Number(row.Model) == n {
				found = append(found, row)
			}
		}
		if len(found) == 1 && found[0].Outcome != "open" {
			return found[0]
		}
		if len(found) > 1 || time.Now().After(deadline) {
			t.Fatalf("request %d has the rows %+v", n, found)
		}
	}
}

// genway runs the administrator's command on data.
func genway(t *testing.T, data string, args ...string) string {
	t.Helper()
	out, err := server.Output("genway", append(args, server.At(data)...)...)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// protocols are all ways to ask for text.
func protocols() []string { return append(caller.Text(), "grpc") }
