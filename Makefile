# Every target needs Go alone, but test, which installs two servers (test-deps).
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
# How much `make chaos` does.
REQUESTS ?= 100000
ROUNDS ?= 50
IMAGES ?= 200
# The mutants that `make mutate` makes: an expression for their names. Empty is all.
MUTANTS ?=
# Requests of real clients, for `make captures`.
CAPTURES ?= ../shared/captures
# A program that plays recorded exchanges, for `make replay`, and the recordings, for
# `make crossing` too.
REPLAY ?= ../shared/replay
# The compliance suite of Open Responses, for `make openresponses`.
OPENRESPONSES ?= ../shared/openresponses
CORPUS ?= ../shared/corpus/dev.jsonl.gz

# Without the tag gRPC links x/net/trace, and that html/template, for a page that nobody
# serves: html/template calls methods by name.
BUILDFLAGS := -trimpath -tags=grpcnotrace

BUF := $(GO) tool -modfile=tools/buf/go.mod buf
LINT := tool -modfile=$(CURDIR)/tools/lint/go.mod golangci-lint
VULN := tool -modfile=$(CURDIR)/tools/vuln/go.mod govulncheck
# The contract as it was last promised: what `breaking` compares with.
BASELINE := proto/baseline.binpb

# The race detector needs a C compiler. Go turns cgo off where it finds none.
CGO = $(shell $(GO) env CGO_ENABLED)
RACE = $(if $(filter 1,$(CGO)),-race)
define RACE_NOTICE
if [ -z "$(RACE)" ]; then \
	echo "WARNING: no C compiler (gcc or clang), so the tests run WITHOUT the race detector." >&2; \
fi
endef

.PHONY: help
help: ## List the targets
	@awk 'BEGIN { FS = ":.*## " } /^[a-z-]+:.*## / { printf "  %-18s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

## The contract

.PHONY: gen
gen: ## Write gen/ from proto/
	$(BUF) generate

.PHONY: gen-check
gen-check: ## Fail when gen/ is not what `make gen` writes
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
	@scripts/test-deps

# Bounds of memory, and of time after a kill, are of the programs as they are run:
# conformance/cases and chaos go without the race detector.
.PHONY: test
test: test-deps proto-lint gen-check breaking allocs binaries ## Run all tests under the race detector
	@$(RACE_NOTICE)
	$(GO) test $(RACE) -timeout=15m ./...
	$(GO) test -C conformance $(RACE) -count=1 -timeout=15m \
		$$($(GO) list -C conformance ./... | grep -v -e '/cases$$' -e '/chaos$$')
	$(GO) test -C conformance -count=1 -timeout=15m ./cases ./chaos
	$(GO) test -C bench $(RACE) -timeout=5m ./...
	@$(RACE_NOTICE)

.PHONY: mutate
mutate: test-deps ## Break the gateway in named ways, which the tests must notice (MUTANTS=EXPRESSION)
	$(GO) run ./tools/mutate -run '$(MUTANTS)'

.PHONY: fuzz
fuzz: ## Run each fuzz target for FUZZTIME
	GO=$(GO) FUZZTIME=$(FUZZTIME) scripts/fuzz $(PKGS)

.PHONY: bench
bench: build ## Measure the gateway beside nginx (BENCH=quick: in three minutes)
	$(GO) build -C bench -o $(CURDIR)/bin/bench .
	bin/bench run -programs bin -results bin/bench.jsonl $(if $(filter quick,$(BENCH)),-quick) $(BENCHFLAGS)

.PHONY: bench-soak
bench-soak: build ## Hold 2,000 streams open for five minutes, on each form of the gateway
	$(GO) build -C bench -o $(CURDIR)/bin/bench .
	bin/bench soak -programs bin -results bin/bench-soak.jsonl $(BENCHFLAGS)

.PHONY: bench-profile
bench-profile: ## Say where the gateway's time goes
	$(GO) build -C bench -o $(CURDIR)/bin/bench .
	bin/bench profile $(BENCHFLAGS)

.PHONY: allocs
allocs: ## Fail when the hot stages allocate more than their baseline
	$(GO) build -C bench -o $(CURDIR)/bin/bench .
	bin/bench allocs

.PHONY: allocs-baseline
allocs-baseline: ## Write the baseline of what the hot stages allocate
	$(GO) build -C bench -o $(CURDIR)/bin/bench .
	bin/bench allocs -update

.PHONY: binaries
binaries: ## Fail when a command has become large, or links what keeps it large
	GO=$(GO) BUILDFLAGS="$(BUILDFLAGS)" scripts/binaries

.PHONY: microbench
microbench: ## Run the benchmarks of PKGS
	$(GO) test -run='^$$' -bench=. -benchmem $(PKGS)

.PHONY: cover
cover: ## Write cover.html: what the tests reach
	$(GO) test -coverprofile=cover.out -coverpkg=./codec/...,./core/...,./gateway/...,./cmd/... $(PKGS)
	$(GO) tool cover -html=cover.out -o cover.html
	$(GO) tool cover -func=cover.out | tail -n 1

.PHONY: cases
cases: test-deps ## Run the named cases and write docs/cases.md
	@$(RACE_NOTICE)
	{ $(GO) test $(RACE) -count=1 -timeout=5m -json -run='^TestCases$$' ./internal/cases/... || true; \
		$(GO) test -C conformance -count=1 -timeout=10m -json -run='^TestCases$$' ./cases || true; } \
		| $(GO) run ./internal/cases/report -o docs/cases.md

.PHONY: chaos
chaos: test-deps ## Hold the gateway to its promises under faults (REQUESTS, ROUNDS of kill -9, IMAGES)
	GENWAY_CHAOS_REQUESTS=$(REQUESTS) GENWAY_CHAOS_ROUNDS=$(ROUNDS) \
		$(GO) test -C conformance -count=1 -timeout=90m -v ./chaos
	GENWAY_CASES_IMAGES=$(IMAGES) $(GO) test -C conformance -count=1 -timeout=30m -v -run='^TestCases$$/^K8$$' ./cases

.PHONY: faults
faults: ## Run the fault table and write docs/faults.md
	$(GO) test -count=1 -run='^TestFaults$$' ./internal/faults -update

.PHONY: captures
captures: ## Replay requests of real clients (CAPTURES=DIR)
	@if [ ! -d "$(CAPTURES)" ]; then \
		echo "SKIPPED: no captures at $(CAPTURES); name their folder with CAPTURES=DIR" >&2; exit 0; \
	fi; \
	GENWAY_CAPTURES=$(abspath $(CAPTURES)) \
		$(GO) test -C conformance -count=1 -tags=captures -run='^TestCaptures$$' -v ./captures \
		| tee /dev/stderr | grep "^--- PASS: TestCaptures" >/dev/null \
		|| { echo "captures: TestCaptures did not pass" >&2; exit 1; }

.PHONY: replay
replay: ## Play recorded exchanges through a gateway (REPLAY=DIR CORPUS=FILE)
	@if [ ! -d "$(REPLAY)" ] || [ ! -f "$(CORPUS)" ]; then \
		echo "SKIPPED: no replay program at $(REPLAY) or no corpus at $(CORPUS); name them with REPLAY=DIR CORPUS=FILE" >&2; exit 0; \
	fi; \
	GO=$(GO) REPLAY=$(REPLAY) CORPUS=$(CORPUS) scripts/replay

.PHONY: crossing
crossing: ## Carry recorded exchanges across protocols, judged by SDKs (CORPUS=FILE)
	@if [ ! -f "$(CORPUS)" ]; then \
		echo "SKIPPED: no corpus at $(CORPUS); name it with CORPUS=FILE" >&2; exit 0; \
	fi; \
	$(GO) test -C tools/crossing . && $(GO) run -C tools/crossing . -corpus $(abspath $(CORPUS))

.PHONY: openresponses
openresponses: ## Run the compliance suite of Open Responses (OPENRESPONSES=DIR; needs npm)
	@if [ ! -d "$(OPENRESPONSES)" ] || ! command -v npm >/dev/null; then \
		echo "SKIPPED: no compliance suite at $(OPENRESPONSES), or no npm; name its folder with OPENRESPONSES=DIR" >&2; exit 0; \
	fi; \
	OPENRESPONSES=$(abspath $(OPENRESPONSES)) \
		$(GO) test -C conformance -count=1 -tags=openresponses -run='^TestSuite$$' -v ./openresponses

.PHONY: engine
engine: ## Put a real engine, llama-server, behind the gateway
	@if ! command=$$(scripts/engine); then \
		echo "SKIPPED: no llama-server to be had; nothing was tested against a real engine" >&2; exit 0; \
	fi; \
	ENGINE="$$command" $(GO) test -C conformance -count=1 -tags=engine ./engine/...

## The rest

.PHONY: lint
lint: proto-lint ## Lint everything: vet, golangci-lint, buf
	$(GO) vet ./...
	$(GO) vet -C conformance ./...
	$(GO) vet -C bench ./...
	$(GO) vet -C tools/crossing ./...
	$(GO) $(LINT) run
	cd conformance && $(GO) $(LINT) run
	cd bench && $(GO) $(LINT) run
	cd tools/crossing && $(GO) $(LINT) run

.PHONY: fmt
fmt: ## Format Go and .proto files
	$(GO) $(LINT) fmt
	cd conformance && $(GO) $(LINT) fmt
	cd bench && $(GO) $(LINT) fmt
	$(BUF) format -w --path proto/genway

.PHONY: vuln
vuln: ## Look for known vulnerabilities (asks the Go vulnerability database)
	$(GO) $(VULN) ./...

.PHONY: build
build: ## Build the commands into bin/, stripped
	CGO_ENABLED=0 $(GO) build $(BUILDFLAGS) -ldflags='-s -w' -o bin/ ./cmd/...

.PHONY: clean
clean: ## Remove what the other targets write
	rm -rf bin cover.out cover.html
