# Every target needs Go alone, but test, which installs three servers (test-deps).
# buf, the protoc plugins, golangci-lint and govulncheck are Go tools pinned under
# tools/, each in a module of its own because their dependencies do not resolve
# together. The first use of one compiles it (buf and golangci-lint take a minute or
# two); Go's cache keeps it.
SHELL := bash
.SHELLFLAGS := -eu -o pipefail -c
.DEFAULT_GOAL := help

GO ?= go
# The packages that fuzz, microbench and cover look at.
PKGS ?= ./...
# How long each fuzz target runs.
FUZZTIME ?= 30s
# `quick` makes `make bench` short; BENCHFLAGS are more flags (bin/bench run -h).
BENCH ?=
BENCHFLAGS ?=
# How long `make bench-hostile` makes each attack.
HOSTILE ?= 5
# How much `make chaos` does.
REQUESTS ?= 100000
ROUNDS ?= 50
IMAGES ?= 200
# What `make cluster` asks, and for how long. Empty is 300 a second beside 300 streams, for 15m.
RATE ?=
STREAMS ?=
DURATION ?=
# The commit or tag whose programs `make versions` puts beside these.
OTHER ?=
# The mutants that `make mutate` makes: an expression for their names. Empty is all.
MUTANTS ?=
# Requests of real clients, for `make captures`.
CAPTURES ?= ../shared/captures
# A program that plays recorded exchanges, for `make replay`, and the recordings, for
# `make crossing` too.
REPLAY ?= ../shared/replay
# What `make test` runs over TLS, too; `make conformance-tls` runs all.
OVER_TLS ?= Stream|Losses
# The compliance suite of Open Responses, for `make openresponses`.
OPENRESPONSES ?= ../shared/openresponses
CORPUS ?= ../shared/corpus/dev.jsonl.gz

# Without the tag gRPC links x/net/trace and html/template, for a page that nobody serves. All that make
# compiles has these flags, with cgo where the race detector is and without it elsewhere, as the programs are
# shipped: each other combination would compile everything once more.
BUILDFLAGS := -trimpath -tags=grpcnotrace
export GOFLAGS := $(strip $(GOFLAGS) $(BUILDFLAGS))
PLAIN := CGO_ENABLED=0

BUF := $(PLAIN) $(GO) tool -modfile=test/tools/buf/go.mod buf
LINT := tool -modfile=$(CURDIR)/test/tools/lint/go.mod golangci-lint
VULN := tool -modfile=$(CURDIR)/test/tools/vuln/go.mod govulncheck
# The contract as it was last promised: what `breaking` compares with.
BASELINE := proto/baseline.binpb

# Where govulncheck finds what is known: https://…, or file://… for a mirror.
GOVULNDB ?= https://vuln.go.dev

# The race detector needs a C compiler. Go turns cgo off where it finds none. It does not watch
# the memory of SQLite, which is C translated to Go and locks for itself: watching it takes most
# of the time of core/store's tests. test/conformance/server builds the programs with the same flags.
# Only a package without generic code may go unwatched: the linker keeps one of the copies of a
# generic function, and an unwatched one of sync/atomic hides from the detector what it orders.
CGO = $(shell $(GO) env CGO_ENABLED)
RACE = $(if $(filter 1,$(CGO)),-race -gcflags=modernc.org/sqlite/lib=-race=false)
# A program with the detector sleeps for a second when it ends, in case a goroutine that is left races. Tests
# are some hundred programs, whose goroutines end before they do (goleak).
export GORACE ?= atexit_sleep_ms=0
define RACE_NOTICE
if [ -z "$(RACE)" ]; then \
	echo "WARNING: no C compiler (gcc or clang), so the tests run WITHOUT the race detector." >&2; \
fi
endef

.PHONY: help
help: ## List the targets
	@awk 'BEGIN { FS = ":.*## " } /^[a-z0-9-]+:.*## / { printf "  %-18s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

## The contract

# The codecs whose structs have generated code.
WIRES := ./codec/google ./codec/chat ./codec/messages ./codec/responses ./codec/generatecontent ./codec/interactions ./codec/images ./codec/internal/wiregen/kinds

# The tests that write tables of the documentation and the schema of the configuration.
TABLES := TestEachFieldIsCarriedLostOrRefused|TestSchemaIsFresh|TestDocs

.PHONY: gen
gen: ## Write all that follows from proto/ and the table of settings: gen/, code of the codecs, schemas, tables of docs/
	$(BUF) generate
	go run ./codec/internal/wiregen -parameters core/config $(WIRES)
	go run ./gateway/openapi/generate gateway/openapi
	$(GO) test ./codec/carried ./core/config ./core/limit ./core/upstream/provider -run '$(TABLES)' -update

.PHONY: gen-check
gen-check: ## Fail when something is not what `make gen` writes
	$(PLAIN) $(GO) run ./codec/internal/wiregen -check -parameters core/config $(WIRES)
	$(PLAIN) $(GO) run ./gateway/openapi/generate -check gateway/openapi
	@tmp=$$(mktemp -d); trap 'rm -rf "$$tmp"' EXIT; \
	$(BUF) generate --output "$$tmp"; \
	diff -ru gen "$$tmp/gen" || { echo "gen/ is stale: run make gen and commit it" >&2; exit 1; }

.PHONY: proto-lint
proto-lint: ## Lint the .proto files
	$(BUF) lint
	$(BUF) format --diff --exit-code --path proto/genway

.PHONY: breaking
breaking: ## Fail when the contract breaks with its baseline
	$(BUF) breaking --against $(BASELINE)

.PHONY: breaking-baseline
breaking-baseline: ## Promise the contract as it is now (at a release)
	$(BUF) build --exclude-source-info --output $(BASELINE)

## The tests

.PHONY: test-deps
test-deps: ## Install the servers that the tests run, where they are missing
	@test/scripts/test-deps

.PHONY: check
check: ## Check formatting, vet, and run the tests that need no server, root or network: the inner loop
	GO=$(GO) test/scripts/check

# Bounds of memory, and of time after a kill, are of the programs as they are run:
# test/conformance/programs, chaos and observability go without the race detector, and four of their cases at once: most wait.
# test runs the tests of packages of a module with flags; where FLAKY names a file, as in .ci/run, what fails
# runs once more (test/scripts/rerun). The packages that take longest come first, so that none runs by itself at the end.
test = $(if $(FLAKY),GO=$(GO) test/scripts/rerun $(1) $(2) -- $(3),$(GO) test -C $(1) $(3) $(2))

.PHONY: test
test: test-deps proto-lint gen-check breaking allocs binaries ## Run all tests under the race detector (two idle cores: some 16 minutes, 26 from a cold build cache)
	@$(RACE_NOTICE)
	$(call test,.,./test/cases ./core/store ./cmd/genway ./...,$(RACE) -timeout=25m)
	$(call test,test/conformance,$$($(GO) list -C test/conformance ./... | grep -v -e '/programs$$' -e '/chaos$$' -e '/observability$$'),$(RACE) -count=1 -timeout=25m)
	GENWAY_TEST_TRANSPORT=tls1 $(call test,test/conformance,./anthropic,$(RACE) -count=1 -timeout=5m -run '$(OVER_TLS)')
	GENWAY_TEST_TRANSPORT=tls2 $(call test,test/conformance,./openai ./genai ./losses,$(RACE) -count=1 -timeout=5m -run '$(OVER_TLS)')
	$(PLAIN) $(call test,test/conformance,./programs ./chaos ./observability,-count=1 -parallel=4 -timeout=25m)
	$(call test,test/bench,./...,$(RACE) -timeout=5m)
	$(PLAIN) $(call test,test/tools/crossing,./...,-count=1 -timeout=5m)
	@$(RACE_NOTICE)

.PHONY: conformance-tls
conformance-tls: ## Run the suites of the protocols, lifecycle, gRPC, programs and chaos over TLS, with HTTP/1.1 and HTTP/2, and over cleartext HTTP/2
	for transport in tls1 tls2 http2; do echo "over $$transport:"; \
		GENWAY_TEST_TRANSPORT=$$transport $(GO) test -C test/conformance -count=1 -timeout=30m ./spec ./openai ./anthropic ./genai ./losses ./openresponses ./lifecycle ./grpc ./programs ./chaos || exit 1; done

.PHONY: screenshots
screenshots: ## Take the pictures of the console in README and docs, of the data of `genway demo`, by Chromium
	GENWAY_SCREENSHOTS=$(CURDIR)/docs/console $(GO) test -C test/conformance -count=1 -tags=screenshots -run TestScreenshots ./console

.PHONY: site
site: ## Build the site of the documents into bin/site, with search and llms.txt (npm); a dead link fails
	cd docs/site && npm ci --no-audit --no-fund && npm run build

.PHONY: chart
chart: ## Lint and render the Helm chart, and hold what it makes to the APIs of two Kubernetes versions
	$(GO) test -C deploy/chart/test -count=1 ./...
	$(GO) test -C deploy/chart/test/older -count=1 ./...

.PHONY: chart-e2e
chart-e2e: ## Install, upgrade and remove the chart in the cluster of KUBECONFIG (REGISTRY, TAG, STORE), or in a control plane of its own
	@GO=$(GO) deploy/scripts/chart-e2e

.PHONY: packages
packages: ## Build a deb and an rpm of all programs into bin/packages (GOARCH, VERSION)
	@GO=$(GO) deploy/scripts/packages

.PHONY: contract-packages
contract-packages: ## Build the packages of genway.v1 for npm, PyPI and Maven into bin/contract-packages (VERSION)
	@GO=$(GO) deploy/scripts/contract-packages

.PHONY: cross
cross: ## Build the programs for each system and architecture of a release (TARGETS=GOOS/GOARCH…)
	GO=$(GO) BUILDFLAGS="$(BUILDFLAGS)" deploy/scripts/cross

.PHONY: release-check
release-check: ## Hold .goreleaser.yaml, the release workflow and the licences of all dependencies to what a release needs
	$(GO) test -C deploy/release/test -count=1 ./...
	@dir=$$(mktemp -d); trap 'rm -rf "$$dir"' EXIT; GO=$(GO) deploy/scripts/licences "$$dir"

.PHONY: release-rehearsal
release-rehearsal: ## Publish a release to a registry on loopback, and install it from there: images, chart, script, npx (Linux, root, buildah, npm; ten minutes from a cold cache)
	$(GO) test -C deploy/release/test -count=1 -v -tags=rehearsal -timeout=40m -run TestRehearsal .

.PHONY: compose
compose: ## Hold deploy/compose to the Compose Specification and to what it refers to, and run its services (Linux, root)
	$(GO) test -C deploy/compose/test -count=1 -v ./...

.PHONY: collector
collector: ## Run deploy/observability/collector.yaml by an OpenTelemetry collector, between the programs and a receiver
	$(GO) build -C test/tools/collector -o $(CURDIR)/bin/collector .
	GENWAY_COLLECTOR=$(CURDIR)/bin/collector $(GO) test -C test/conformance -count=1 -timeout=10m -run '^TestCases$$/^O22$$' -v ./observability

.PHONY: mutate
mutate: test-deps ## Break the gateway in named ways, which the tests must notice (MUTANTS=EXPRESSION)
	$(GO) run ./test/tools/mutate -run '$(MUTANTS)'

.PHONY: fuzz
fuzz: ## Run each fuzz target for FUZZTIME
	GO=$(GO) FUZZTIME=$(FUZZTIME) test/scripts/fuzz $(PKGS)

.PHONY: bench
bench: build ## Measure the gateway beside Go's reverse proxy and others, and print what is dearer than in docs/performance.md (BENCH=quick: in five minutes)
	$(GO) build -C test/bench -o $(CURDIR)/bin/bench .
	bin/bench run -programs bin -peers test/bench/peers.yaml $(if $(filter quick,$(BENCH)),-quick -results test/bench/results/quick.jsonl,-results test/bench/results/bench.jsonl -last docs/performance.md) $(BENCHFLAGS)

.PHONY: bench-docs
bench-docs: ## Write the results of the last make bench into docs/performance.md
	$(GO) build -C test/bench -o $(CURDIR)/bin/bench .
	bin/bench report -write docs/performance.md test/bench/results/bench.jsonl

.PHONY: bench-growth
bench-growth: ## Measure what grows with keys, routes, rows of the ledger and limits (SIZES=1,100,10000,1000000)
	$(GO) build -C test/bench -o $(CURDIR)/bin/bench .
	bin/bench growth $(if $(SIZES),-sizes $(SIZES)) $(BENCHFLAGS)

.PHONY: bench-scale
bench-scale: ## Measure what one PostgreSQL and one Redis or Valkey, which all cores share, can do
	$(GO) build -C test/bench -o $(CURDIR)/bin/bench .
	bin/bench scale $(BENCHFLAGS)

.PHONY: bench-pages
bench-pages: ## Measure the console's pages on a ledger of ten million rows (ROWS), on SQLite and PostgreSQL: 8 GB of disk, a quarter of an hour
	$(GO) build -C test/bench -o $(CURDIR)/bin/bench .
	bin/bench pages $(if $(ROWS),-rows $(ROWS)) $(BENCHFLAGS)

.PHONY: bench-viewer
bench-viewer: build ## Measure what a viewer of the live tail costs at 500 requests a second (two minutes, an idle machine)
	$(GO) build -C test/bench -o $(CURDIR)/bin/bench .
	bin/bench viewer -programs bin $(BENCHFLAGS)

.PHONY: bench-telemetry-pairs
bench-telemetry-pairs: ## Measure what metrics, logs and traces cost, in one process, in short slices in turns, with intervals; also on a busy machine
	$(GO) test ./cmd/genway -run '^$$' -cpu 1 -timeout=30m -benchtime 7000x -bench 'TelemetryPairs/^(nothing|metrics-and-logs)$$'
	$(GO) test ./cmd/genway -run '^$$' -cpu 1 -timeout=30m -benchtime 200x -bench 'TelemetryPairs/^unsampled$$'

.PHONY: bench-features
bench-features: build ## Measure what each feature costs a request, by taking it out or putting it in, in turns with runs without the change (ten minutes)
	$(GO) build -C test/bench -o $(CURDIR)/bin/bench .
	bin/bench features -programs bin -results bin/bench-features.jsonl $(BENCHFLAGS)

.PHONY: bench-soak
bench-soak: build ## Hold 2,000 streams open for five minutes, on each form of the gateway
	$(GO) build -C test/bench -o $(CURDIR)/bin/bench .
	bin/bench soak -programs bin -results bin/bench-soak.jsonl $(BENCHFLAGS)

.PHONY: bench-hostile
bench-hostile: ## Flood each port from a stranger (HOSTILE seconds each) beside a healthy caller
	@echo "| flood | connections ended | p99 of a healthy caller | calls of it that were shed | memory, at most | memory, afterwards |"
	@echo "|---|---|---|---|---|---|"
	@GENWAY_HOSTILE_SECONDS=$(HOSTILE) $(GO) test -C test/conformance -count=1 -timeout=60m -v -run '^TestCases$$/^N[23]$$' ./programs \
		| sed -n -e 's/^.*\.go:[0-9]*: \(| .* |\)$$/\1/p' -e 's/^=== RUN *\(TestCases.*\)/| **\1** | | | | | |/p' -e '/\.go:/{/: | /!p}' -e '/FAIL/p'

.PHONY: bench-overload
bench-overload: build ## Offer five times the capacity, and say what is left of the goodput
	$(GO) build -C test/bench -o $(CURDIR)/bin/bench .
	bin/bench overload -programs bin $(BENCHFLAGS)

.PHONY: bench-profile
bench-profile: ## Say where the gateway's time goes
	$(GO) build -C test/bench -o $(CURDIR)/bin/bench .
	bin/bench profile $(BENCHFLAGS)

.PHONY: allocs
allocs: ## Fail when the hot stages allocate more than their baseline
	$(PLAIN) $(GO) build -C test/bench -o $(CURDIR)/bin/bench .
	$(PLAIN) bin/bench allocs

.PHONY: allocs-baseline
allocs-baseline: ## Write the baseline of what the hot stages allocate
	$(PLAIN) $(GO) build -C test/bench -o $(CURDIR)/bin/bench .
	$(PLAIN) bin/bench allocs -update

.PHONY: image
image: ## Build the images for amd64 and arm64 into bin/images without a container engine, twice, and run one (root, buildah)
	deploy/scripts/image

.PHONY: binaries
binaries: ## Fail when a command is larger than its bound
	GO=$(GO) BUILDFLAGS="$(BUILDFLAGS)" deploy/scripts/binaries

.PHONY: microbench
microbench: ## Run the benchmarks of PKGS
	$(GO) test -run='^$$' -bench=. -benchmem $(PKGS)

.PHONY: cover
cover: ## Write cover.html: what the tests reach
	$(GO) test -coverprofile=cover.out -coverpkg=./codec/...,./core/...,./gateway/...,./cmd/... $(PKGS)
	$(GO) tool cover -html=cover.out -o cover.html
	$(GO) tool cover -func=cover.out | tail -n 1

.PHONY: cases
cases: test-deps ## Run the named cases and write docs/reference/cases.md
	@$(RACE_NOTICE)
	$(GO) build -C test/tools/collector -o $(CURDIR)/bin/collector .
	{ $(GO) test $(RACE) -count=1 -timeout=15m -json -run='^TestCases$$' ./test/cases/... || true; \
		GENWAY_COLLECTOR=$(CURDIR)/bin/collector \
		$(GO) test -C test/conformance -count=1 -timeout=10m -json -run='^TestCases$$' ./programs ./observability || true; } \
		| $(GO) run ./test/cases/report -o docs/reference/cases.md

.PHONY: chaos
chaos: test-deps ## Hold the gateway to its promises under faults (REQUESTS, ROUNDS of kill -9, IMAGES)
	GENWAY_CHAOS_REQUESTS=$(REQUESTS) GENWAY_CHAOS_ROUNDS=$(ROUNDS) \
		$(GO) test -C test/conformance -count=1 -timeout=90m -v ./chaos
	GENWAY_CASES_IMAGES=$(IMAGES) $(GO) test -C test/conformance -count=1 -timeout=30m -v -run='^TestCases$$/^K8$$' ./programs
	GENWAY_CASES_HUNG=long $(GO) test -C test/conformance -count=1 -timeout=10m -v -run='^TestCases$$/^N51$$' ./programs

.PHONY: versions
versions: ## Run edges and cores of this version with those of another (OTHER=REF: a commit or tag)
	@if [ -z "$(OTHER)" ]; then \
		echo "versions: name the other version with OTHER=REF, a commit or a tag" >&2; exit 1; \
	fi; \
	tmp=$$(mktemp -d); trap 'rm -rf "$$tmp"' EXIT; mkdir "$$tmp/source"; \
	git archive "$(OTHER)" | tar -x -C "$$tmp/source"; \
	$(GO) build -C "$$tmp/source" -o "$$tmp/bin/" ./cmd/...; \
	GENWAY_OTHER_BIN="$$tmp/bin" $(GO) test -C test/conformance -count=1 -timeout=15m -v ./versions

.PHONY: network
network: ## Put an edge and two cores on hosts of their own, with partitions, loss and delay (Linux, root)
	GENWAY_NETWORK=long $(GO) test -C test/conformance -count=1 -timeout=15m -v ./network

.PHONY: roll
roll: ## Restart cores, edges and both under load: no request fails, each stream ends whole
	GENWAY_ROLL=full $(GO) test -C test/conformance -count=1 -timeout=15m -v ./roll

.PHONY: cluster
cluster: test-deps ## Put a whole cluster into a storm and write docs/reference/cluster.md (RATE, STREAMS, DURATION; Linux, root)
	test/scripts/cluster full

.PHONY: cluster-short
cluster-short: test-deps ## The same in some four minutes, which writes nothing
	test/scripts/cluster short

.PHONY: faults
faults: ## Run the fault table and write docs/faults.md
	$(GO) test -count=1 -run='^TestFaults$$' ./test/faults -update

.PHONY: captures
captures: ## Replay requests of real clients (CAPTURES=DIR)
	@if [ ! -d "$(CAPTURES)" ]; then \
		echo "SKIPPED: no captures at $(CAPTURES); name their folder with CAPTURES=DIR" >&2; exit 0; \
	fi; \
	GENWAY_CAPTURES=$(abspath $(CAPTURES)) \
		$(GO) test -C test/conformance -count=1 -tags=captures -run='^TestCaptures$$' -v ./captures \
		| tee /dev/stderr | grep "^--- PASS: TestCaptures" >/dev/null \
		|| { echo "captures: TestCaptures did not pass" >&2; exit 1; }

.PHONY: replay
replay: ## Play recorded exchanges in their own protocols through a gateway, and through places; crossing translates them (REPLAY=DIR CORPUS=FILE)
	@if [ ! -d "$(REPLAY)" ] || [ ! -f "$(CORPUS)" ]; then \
		echo "SKIPPED: no replay program at $(REPLAY) or no corpus at $(CORPUS); name them with REPLAY=DIR CORPUS=FILE" >&2; exit 0; \
	fi; \
	GO=$(GO) REPLAY=$(REPLAY) CORPUS=$(CORPUS) test/scripts/replay

.PHONY: crossing
crossing: ## Carry recorded exchanges across protocols, judged by SDKs, the vendors' rules and the X-ray (CORPUS=FILE, CAPTURES=DIR)
	@if [ ! -f "$(CORPUS)" ]; then \
		echo "SKIPPED: no corpus at $(CORPUS); name it with CORPUS=FILE" >&2; exit 0; \
	fi; \
	captures="$(abspath $(wildcard $(CAPTURES)))"; \
	[ -n "$$captures" ] || echo "SKIPPED: no captures at $(CAPTURES); name their folder with CAPTURES=DIR" >&2; \
	$(GO) test -C test/tools/crossing .; \
	GENWAY_CORPUS=$(abspath $(CORPUS)) GENWAY_CAPTURES="$$captures" \
		$(GO) test -count=1 -v -run='^TestCases$$/^X112$$' ./test/cases | sed -e '/^ *=== /d' -e '/^ *--- PASS/d'; \
	$(GO) run -C test/tools/crossing . -corpus $(abspath $(CORPUS)) -captures "$$captures"

.PHONY: openresponses
openresponses: ## Run the compliance suite of Open Responses (OPENRESPONSES=DIR; needs npm)
	@if [ ! -d "$(OPENRESPONSES)" ] || ! command -v npm >/dev/null; then \
		echo "SKIPPED: no compliance suite at $(OPENRESPONSES), or no npm; name its folder with OPENRESPONSES=DIR" >&2; exit 0; \
	fi; \
	OPENRESPONSES=$(abspath $(OPENRESPONSES)) \
		$(GO) test -C test/conformance -count=1 -tags=openresponses -run='^TestSuite$$' -v ./openresponses

.PHONY: engine
engine: ## Put a real engine, llama-server, behind the gateway
	@if ! command=$$(test/scripts/engine); then \
		echo "SKIPPED: no llama-server to be had; nothing was tested against a real engine" >&2; exit 0; \
	fi; \
	ENGINE="$$command" $(GO) test -C test/conformance -count=1 -tags=engine ./engine/...

## The rest

.PHONY: lint
lint: proto-lint ## Lint everything: vet, golangci-lint, buf
	$(GO) vet ./...
	$(GO) vet -C test/conformance ./...
	$(GO) vet -C test/bench ./...
	$(GO) vet -C test/tools/crossing ./...
	$(GO) $(LINT) run
	cd test/conformance && $(GO) $(LINT) run
	cd test/bench && $(GO) $(LINT) run
	cd test/tools/crossing && $(GO) $(LINT) run
	cd docs/examples/client-go && $(GO) $(LINT) run

.PHONY: fmt
fmt: ## Format Go and .proto files
	$(GO) $(LINT) fmt
	cd test/conformance && $(GO) $(LINT) fmt
	cd test/bench && $(GO) $(LINT) fmt
	$(BUF) format -w --path proto/genway

.PHONY: vuln
vuln: ## Look for known vulnerabilities (asks GOVULNDB, by default https://vuln.go.dev)
	@if curl -fsS -o /dev/null -m 20 "$(GOVULNDB)/index/db.json"; then \
		$(GO) $(VULN) -db "$(GOVULNDB)" ./...; \
	else \
		echo "NOT RUN: govulncheck, since its database $(GOVULNDB) is not reachable; GOVULNDB=URL names another" >&2; \
	fi

.PHONY: outdated
outdated: ## List newer versions of direct dependencies, of all modules
	@for dir in . test/conformance test/bench docs/examples/client-go $(dir $(wildcard test/tools/*/go.mod)); do \
		$(GO) list -C $$dir -m -u -e -f '{{if and .Update (not .Indirect)}}{{.Path}} {{.Version}} -> {{.Update.Version}}{{end}}' all; \
	done | sort -u

.PHONY: build
build: ## Build the commands into bin/, stripped
	CGO_ENABLED=0 $(GO) build $(BUILDFLAGS) -ldflags='-s -w' -o bin/ ./cmd/...

.PHONY: clean
clean: ## Remove what the other targets write
	rm -rf bin cover.out cover.html
