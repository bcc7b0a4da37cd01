# Few targets on purpose. What has to hold before a change lands is .ci/run.

FUZZTIME ?= 10s
N ?= 2000

.PHONY: check test race fuzz bench crash

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
