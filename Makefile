# Few targets on purpose. What has to hold before a change lands is .ci/run.

FUZZTIME ?= 10s
N ?= 2000
PACKAGES ?= event internal/turn internal/history internal/scope model/transport

.PHONY: install check test race fuzz bench bench-peers bench-growth crash simulate screen pictures judge links shake break mutate proof clients release site

install: ## a static and stripped binary, into $(go env GOPATH)/bin
	CGO_ENABLED=0 go install -trimpath -ldflags "-s -w" ./cmd/settle

check: ## format, vet, lint, vulnerabilities
	.ci/run check

test:
	go test ./...

race:
	go test -race ./...

# Go's fuzzer can fail with "context deadline exceeded" alone when its time is up
# (golang/go#75804, mended in Go 1.27); then a target is run once more.
fuzz: ## every fuzz target for FUZZTIME; the tag leaves out tests that take minutes to instrument
	@git grep -ho --untracked '^func Fuzz[A-Za-z0-9_]*' -- '*_test.go' >/dev/null || { echo "no fuzz targets"; exit 1; }
	@git grep -o --untracked '^func Fuzz[A-Za-z0-9_]*' -- '*_test.go' | sed 's/:func / /' | while read -r file target; do \
		echo "== $$target ($$(dirname $$file))"; \
		fuzz() { go test -tags fuzzing -run '^$$' -fuzz "^$$target\$$" -fuzztime $(FUZZTIME) -fuzzminimizetime 10x ./$$(dirname $$file) 2>&1; }; \
		if said=$$(fuzz); then echo "$$said"; continue; fi; \
		echo "$$said"; \
		echo "$$said" | grep -q '^ *context deadline exceeded$$' || exit 1; \
		if echo "$$said" | grep -q 'Failing input'; then exit 1; fi; \
		echo "== once more"; fuzz || exit 1; \
	done

bench:
	go test -run '^$$' -bench . -benchmem ./...

bench-peers: ## settle, curl and other agents in SETTLE_PEERS/node_modules on one scripted server (docs/performance.md)
	go test -count=1 -v -timeout 30m -tags compare -run 'TestPeers$$' ./cmd/settle

bench-growth: ## how cost grows, as plots in docs/pictures (docs/performance.md)
	SETTLE_PLOTS=$(CURDIR)/docs/pictures go test -timeout 30m -tags compare -run '^$$' -bench 'Growth$$' -benchtime 1x ./cmd/settle

crash: ## kill -9 of the built binary, N times
	CRASHES=$(N) go test -tags machine -count=1 -v -timeout 0 ./internal/test/crash

simulate: ## N sessions, drawn at random (docs/proof.md)
	go test -count=1 -v -timeout 0 -run 'TestSimulation' ./internal/test/proof -sessions $(N) -seed 0

screen: ## N sessions on a terminal: in memory, in tmux and in xterm.js (needs tmux, node and npm), and keys at every event of the catalogue; the scrollback must be the log (docs/terminal.md)
	go test -count=1 -v -timeout 0 -tags machine -run 'Equals?Log$$|KeyAtEveryEvent$$' ./internal/frontend/tui -sessions $(N)

pictures: ## docs/pictures, of the built program in tmux, and of the page in Chromium
	go test -count=1 -tags pictures -run 'TestPictures$$' ./cmd/settle
	cd internal/frontend/web/page && npm ci --ignore-scripts --no-audit --no-fund && node e2e/stills.mjs ../../../../docs/pictures

judge: ## all of the corpus, and N drawn commands: what is allowed runs, a share also in the sandbox, and must do no harm (docs/adr/0008); FLAGS such as -commands-seed=1
	go test -count=1 -v -timeout 0 -run 'TestOracle$$|TestSandboxedOracle|TestUnasked' ./internal/policy -commands $(N) -commands-seed 0 $(FLAGS)

links: ## N calls of each file tool user, while names are swapped for links (docs/adr/0031)
	go test -count=1 -v -timeout 0 ./internal/test/links -calls $(N)

shake: ## N sessions, drawn at random, with goroutines that give way at random (docs/proof.md); FLAGS such as -seed=1
	@dir=$${TMPDIR:-/tmp}/settle-shake-$$(id -u); rm -rf $$dir && go run ./internal/test/shake/overlay $$dir && \
	go test -overlay $$dir/overlay.json -count=1 -v -timeout 0 -cpu 1 -run 'TestSimulation$$' ./internal/test/proof -sessions $(N) -seed 0 $(FLAGS)

break: ## each clause of the contract broken on purpose: the proof must fail
	go test -count=1 -v -timeout 0 -tags breaking -run 'TestBroken$$' ./internal/test/proof

mutate: ## small changes in PACKAGES, one by one, which their tests must notice; takes hours
	@bin=$${TMPDIR:-/tmp}/settle-mutate-$$(id -u); mkdir -p $$bin && go build -C tools/mutate -o $$bin/ tool && \
	for package in $(PACKAGES); do \
		echo "== $$package"; \
		GOFLAGS="$$GOFLAGS -count=1" $$bin/gremlins unleash ./$$package --workers 1 --timeout-coefficient 10 --invert-logical --invert-loopctrl -S lct || exit 1; \
	done

proof: ## all of docs/proof.md but the breaking and the mutation
	go test -count=1 -v -timeout 15m ./internal/test/proof -sessions 20000
	go test -count=1 ./modeltest/... ./internal/test/crash ./event ./event/contract ./internal/scope ./model/transport ./internal/redact ./internal/history ./internal/turn ./internal/session \
		./internal/journal ./internal/proc ./tool/shell ./internal/frontend/run ./internal/client/oneturn ./internal/client/stdio ./cmd/settle
	$(MAKE) fuzz FUZZTIME=2s

clients: ## programs from npm, against the built binary (docs/clients/README.md)
	go test -count=1 -timeout 30m -tags clients ./clients

release: ## archives, packages, image for VERSION (docs/release.md) in dist/
	go run -C release . -o $(CURDIR)/dist $(if $(VERSION),-version $(VERSION))

site: ## the documentation, into site/dist: static, with a search that needs no server
	cd site && npm install --ignore-scripts --no-audit --no-fund && npm run build
