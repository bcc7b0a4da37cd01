# Few targets on purpose. What has to hold before a change lands is .ci/run.

FUZZTIME ?= 10s
N ?= 2000

.PHONY: check test race fuzz bench crash simulate break proof clients

check: ## format, vet, lint, vulnerabilities
	.ci/run check

test:
	go test ./...

race:
	go test -race ./...

fuzz: ## every fuzz target for FUZZTIME
	@git grep -ho --untracked '^func Fuzz[A-Za-z0-9_]*' -- '*_test.go' >/dev/null || { echo "no fuzz targets"; exit 1; }
	@git grep -o --untracked '^func Fuzz[A-Za-z0-9_]*' -- '*_test.go' | sed 's/:func / /' | while read -r file target; do \
		echo "== $$target ($$(dirname $$file))"; \
		go test -run '^$$' -fuzz "^$$target\$$" -fuzztime $(FUZZTIME) ./$$(dirname $$file) || exit 1; \
	done

bench:
	go test -run '^$$' -bench . -benchmem ./...

crash: ## kill -9 of the built binary, N times
	CRASHES=$(N) go test -count=1 -v -timeout 0 ./settletest/crash

simulate: ## N sessions, drawn at random (docs/proof.md)
	go test -count=1 -v -timeout 0 -run 'TestSimulation$$' ./internal/proof -sessions $(N)

break: ## each clause of the contract broken on purpose: the proof must fail
	go test -count=1 -v -timeout 0 -tags breaking -run 'TestBroken$$' ./internal/proof

proof: ## all of docs/proof.md but the breaking
	go test -count=1 -v -timeout 15m ./internal/proof -sessions 20000
	go test -count=1 ./settletest/... ./event ./internal/journal ./internal/proc ./tool/shell

clients: ## programs from npm, against the built binary (docs/clients.md)
	go test -count=1 -timeout 30m -tags clients ./clients
