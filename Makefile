# Arborist's two commands are `make demo` and `make test`; `make help` lists the rest.
#
# SQLite is compiled with FTS5, which is a build tag of its driver; every go
# command here carries it.
TAGS    := sqlite_fts5
GO      := go
BIN     := bin
LDFLAGS := -s -w
ARB     := $(BIN)/arborist

# Packages with goroutines of their own, tested with the race detector.
CONCURRENT := ./ingest ./ingest/source ./ingest/extract/pdf ./shard/... ./crawl/... ./peer/... ./daemon/...

.DEFAULT_GOAL := help
.PHONY: help build demo test race crash bench bench-scale bench-bleve bench-memory bench-crawl bench-peer sim lint fmt crawl-ingest recrawl-check crawl-textbooks textbook crawl-textbooks-stats query

help: ## list the targets
	@grep -E '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 16

build: ## build bin/arborist and bin/arborist-verify
	$(GO) build -tags $(TAGS) -ldflags '$(LDFLAGS)' -o $(BIN)/ ./cmd/arborist
	CGO_ENABLED=0 $(GO) build -ldflags '$(LDFLAGS)' -o $(BIN)/ ./cmd/arborist-verify

demo: build ## run the whole main job on real input: crawl, add, query, prove, verify, sync
	$(GO) run -tags $(TAGS) ./cmd/demo -bin $(BIN) -site "$$($(GO) env GOROOT)/doc"

test: ## run all tests
	$(GO) test -tags $(TAGS) -timeout 20m ./...

race: ## run the tests of the concurrent packages with the race detector
	$(GO) test -tags $(TAGS) -race -timeout 30m $(CONCURRENT)

crash: ## rebuild and check IMAGES=2000 disks that a power cut could leave, as many in purges and after failed fsyncs (SEED=1)
	ARBORIST_CRASH_IMAGES=$(or $(IMAGES),2000) ARBORIST_CRASH_SEED=$(or $(SEED),1) \
		$(GO) test -tags $(TAGS) -count=1 -timeout 1h -v ./internal/arbtest/crash

bench: ## run the benchmarks; they report ratios measured in one run
	$(GO) test -tags $(TAGS) -run '^$$' -bench . -benchtime 1s ./...

bench-scale: ## [BENCH_MB=470]: ingest and queries of 16 shards against one plain FTS5 table, in one run
	BENCH_MB=$(or $(BENCH_MB),470) $(GO) test -tags $(TAGS) -run '^$$' -bench Scale -benchtime 1x -timeout 2h ./shard

bench-bleve: ## [BENCH_MB=48 BENCH_SHARDS=16]: the same against Bleve v2, which a module of its own brings in
	cd internal/arbtest/bleve && BENCH_MB=$(or $(BENCH_MB),48) BENCH_SHARDS=$(BENCH_SHARDS) $(GO) test -tags $(TAGS) -run '^$$' -bench Bleve -benchtime 1x -timeout 2h .

bench-memory: ## [BENCH_MB=4096]: memory while that much recombined text is ingested
	GOMEMLIMIT=352MiB BENCH_MB=$(or $(BENCH_MB),4096) $(GO) test -tags $(TAGS) -run '^$$' -bench Memory -benchtime 1x -timeout 4h ./shard

bench-peer: build ## [KUBO=/path/to/ipfs ROWS="idle small large edited proofs crowd" DOCS=20000 MIB=512 PEERS=500]: peers against Kubo and bare libp2p
	KUBO='$(KUBO)' ROWS='$(ROWS)' DOCS='$(DOCS)' MIB='$(MIB)' PEERS='$(PEERS)' $(GO) run -tags $(TAGS) ./internal/arbtest/peerbench

bench-crawl: build ## [ROUNDS=1]: crawl installed documentation beside wget2 and Colly; needs nginx and wget2, takes minutes
	ARBORIST_BIN=$(CURDIR)/$(ARB) $(GO) test -run '^$$' -bench . -benchtime $(or $(ROUNDS),1)x -timeout 2h ./internal/arbtest/crawlbench

sim: ## [NODES=1000 CORPORA=100 DIRECTORY=0]: how new heads spread over real nodes in a simulated network, then over a model of more (docs/scale.md); 12 GB of memory, half an hour of processor time
	SIM_NODES=$(or $(NODES),1000) SIM_CORPORA=$(or $(CORPORA),100) SIM_DIRECTORY=$(or $(DIRECTORY),0) \
		$(GO) test -tags $(TAGS) -run '^TestANewHeadSpreadsAsTheModelSays$$' -count=1 -timeout 4h -v ./daemon
	$(GO) run ./internal/arbtest/sim

lint: ## gofmt, vet, staticcheck
	@out=$$(gofmt -l $$(git ls-files '*.go')); test -z "$$out" || { echo "not gofmt-ed:"; echo "$$out"; exit 1; }
	$(GO) vet -tags $(TAGS) ./...
	$(GO) run honnef.co/go/tools/cmd/staticcheck@v0.8.2 -tags $(TAGS) ./...

crawl-ingest: build ## URL=… [DEPTH=2 MAX=0 FAST=1]: crawl a site into the private crawl db
	@test -n "$(URL)" || { echo "say which site: make crawl-ingest URL=https://example.org/"; exit 2; }
	$(ARB) init
	$(ARB) crawl --ingest --seed-url '$(URL)' --depth $(or $(DEPTH),2) --max-pages $(or $(MAX),0) $(if $(FAST),--fast)

recrawl-check: build ## DOMAIN=… [UPDATE=1]: which crawled pages are fresh, stale, gone or unreachable
	@test -n "$(DOMAIN)" || { echo "say which host: make recrawl-check DOMAIN=example.org"; exit 2; }
	@$(ARB) crawler recrawl-check --domain '$(DOMAIN)' $(if $(UPDATE),--update)

crawl-textbooks: build ## [MANIFEST=textbooks.json FAST=1]: crawl the textbooks of a manifest
	$(ARB) init
	$(ARB) crawl-textbooks '$(or $(MANIFEST),textbooks.json)' $(if $(FAST),--fast)

textbook: build ## ID=… [MANIFEST=textbooks.json FAST=1]: crawl one of them
	@test -n "$(ID)" || { echo "say which one: make textbook ID=sicp"; exit 2; }
	$(ARB) init
	$(ARB) crawl-textbooks '$(or $(MANIFEST),textbooks.json)' --id '$(ID)' $(if $(FAST),--fast)

crawl-textbooks-stats: build ## [MANIFEST=textbooks.json]: what is stored of each
	@$(ARB) crawl-textbooks '$(or $(MANIFEST),textbooks.json)' --stats

query: build ## Q=…: search everything on this machine
	@test -n "$(Q)" || { echo "say what to look for: make query Q='merkle proof'"; exit 2; }
	@$(ARB) query '$(Q)'
