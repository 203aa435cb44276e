SHELL := bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help

# Each version is pinned once: tools in tools/go.mod, everything else in go.mod.
TOOL := go tool -modfile=tools/go.mod
PROTOGEN := cd tools && go run ./protogen
MAVEN := mvn --batch-mode
DASHBOARD := node deploy/grafana/dashboard.js
# Guards that need a driver, and adapters, are modules of their own; see docs/decisions/layout.md for the others.
GUARDS := $(patsubst %/go.mod,%,$(wildcard clients/fence/*/go.mod))
ADAPTERS := $(patsubst %/go.mod,%,$(wildcard clients/adapters/*/go.mod))
MODULES := . messages clients cmd/holdfast/holdfasttest clients/holdfast/holdfastotel cmd/holdfast/otel integration/peers packaging $(GUARDS) $(ADAPTERS)
VERSION := $(shell git describe --tags --match 'v[0-9]*' --always --dirty 2>/dev/null || echo dev)
# Folders and modules whose tests take long, or need root or servers of others: make test has them. All others are in
# make check as well, also those that are new.
LONG := integration $(addprefix integration/,access agent bench cluster faults fencekv fencenats hostile identity \
	languages modules monitoring mutants nodes page soak tenants watch)
LONG_MODULES := integration/peers packaging $(GUARDS)
# Packages without a goroutine, in which the race detector would find nothing, five times as slowly; and deployments in
# virtual time on one thread, which are fifteen times as slow with it, and whose seeds repeat only without it.
ALONE := holdfast/(actors/(lease|ledger)|integration/simulation)$$
# Modules whose hosts take minutes to compile for the race detector: make test runs them as lint compiles them.
PLAIN := clients/adapters/kuberneteslock
# The time of all files in the packages, so that a commit has one set of packages.
TIME := $(shell git log -1 --format=%ct 2>/dev/null)

# in-all runs a command in each module of a list. It continues after a failure and lists the failed modules at the end.
define in-all
@failed=(); \
for module in $(1); do \
	echo "=== $$module"; \
	(cd "$$module" && $(2)) || failed+=("$$module"); \
done; \
if (($${#failed[@]})); then echo "FAILED in $${#failed[@]} of $(words $(1)) modules: $${failed[*]}"; exit 1; fi; \
echo "passed in all $(words $(1)) modules"
endef

# go-test tests the packages of a module, and keeps the lines with their times. Its arguments: flags, packages. Tests of
# the clients, which have the node as a process, build it once. make lint has what vet finds.
go-test = case "$${module-.}" in clients|clients/*) export HOLDFAST_BINARY=$(CURDIR)/bin/holdfast;; esac && \
	go test -count=1 -vet=off -timeout 20m $(1) $(2) | tee -a $(CURDIR)/bin/tests

ARGS ?=
BASE ?= /
HOURS ?= 8
NAMES ?= 200000
BENCH ?= .
COUNT ?= 1
FUZZTIME ?= 30s
KEY ?=
EXECUTIONS ?= 1000000
FENCETIME ?= 3s
SOAK ?= 5m
KILLS ?= 100
HOSTILE ?= 10m
FAULTS ?= 30m
TRIALS ?= 1000
SEED ?= 0
DEEPER ?= 2
ROUNDS ?= 3
RACE ?=

.PHONY: help
help: ## Show this list.
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  %-16s %s\n", $$1, $$2 }' Makefile

# Without cgo the binary is static: it runs on any Linux and resolves names and users without the C library.
# Go's own version stamp is off: commands.version replaces it, and it fails in a clone that another user owns.
.PHONY: build
build: ## Build bin/holdfast.
	CGO_ENABLED=0 go build -trimpath -buildvcs=false -ldflags '-X github.com/holdfast-io/holdfast/cmd/holdfast/internal/commands.version=$(VERSION)' -o bin/holdfast ./cmd/holdfast

.PHONY: build-otel
build-otel: ## Build bin/holdfast-otel, whose nodes export traces.
	cd cmd/holdfast/otel && CGO_ENABLED=0 go build -trimpath -buildvcs=false -ldflags '-X github.com/holdfast-io/holdfast/cmd/holdfast/internal/commands.version=$(VERSION)' -o $(CURDIR)/bin/holdfast-otel ./holdfast-otel

.PHONY: run
run: build ## Build and start one node; ARGS="..." adds flags.
	bin/holdfast serve $(ARGS)

# Each node is a job of its own, so that Ctrl-C reaches only the shell, which stops the nodes quietly.
.PHONY: cluster
cluster: build ## Build and start three nodes, on the ports 4222 to 4224, until Ctrl-C; ARGS="..." adds flags.
	@set -m; pids=(); \
	trap 'kill -TERM "$${pids[@]}" 2>/dev/null || true' INT TERM; \
	for n in 1 2 3; do \
		bin/holdfast serve --name n$$n --listen 127.0.0.1:422$$((n+1)) --data data/n$$n --replicas 3 \
			--cluster-listen 127.0.0.1:622$$((n+1)) --routes 127.0.0.1:6222,127.0.0.1:6223,127.0.0.1:6224 $(ARGS) \
			> >(exec sed -u "s/^/n$$n | /") 2>&1 & \
		pids+=($$!); \
	done; \
	exec 2>/dev/null; \
	while ! wait "$${pids[@]}"; do kill -0 "$${pids[@]}" 2>/dev/null || break; done

.PHONY: generate
generate: dashboard-tools ## Write the Go code of messages/*.proto, the dashboard of deploy/grafana, docs/settings.md and the page of docs/results.
	$(PROTOGEN) 'messages/*.proto' 'messages/*/*.proto'
	$(DASHBOARD) > deploy/grafana/holdfast.json
	cd cmd/holdfast && go run . settings ../../docs/settings.md
	cd tools && go run ./night -page

.PHONY: fmt
fmt: ## Format the code.
	$(TOOL) golangci-lint fmt

.PHONY: tidy
tidy: ## Tidy all modules.
	for module in $(MODULES) tools; do (cd "$$module" && go mod tidy); done

# A module that cannot be looked up is left out: Go reports it on standard error.
.PHONY: outdated
outdated: ## List the dependencies of which a newer version exists, in all languages.
	@for module in $(MODULES) tools; do \
		echo "=== $$module"; \
		(cd "$$module" && go list -e -m -u -f '{{if .Update}}{{.Path}} {{.Version}}: {{.Update.Version}}{{end}}' \
			$$(go mod edit -print | awk '/^\t/ && !/holdfast-io/ { print $$1 }') | grep . || true); \
	done
	@bash .ci/servers typescript
	@bash .ci/servers python
	@bash .ci/servers java
	@echo '=== clients/typescript'; cd clients/typescript && npm outdated || true
	@echo '=== clients/python'; clients/python/.venv/bin/pip list --outdated
	@echo '=== clients/java'; cd clients/java && $(MAVEN) '-Dmaven.version.ignore=(?i).*-(alpha|beta|rc|m)[-.]?\d+.*' \
		$(addprefix org.codehaus.mojo:versions-maven-plugin:2.22.0:display-,dependency-updates plugin-updates) -DprocessDependencyManagementTransitive=false | \
		awk '/Require Maven/ { older = 1 } /updates are|have newer versions/ { older = 0 } \
			!older && /^\[INFO\]   / { if ($$3 == "->") $$1 = name; else name = $$2; if (/ -> / && !seen[$$0]++) { sub(/^\[INFO\] +/, ""); print } }'

.PHONY: clean
clean: ## Remove build and coverage output.
	rm -rf bin dist coverage.out coverage.html clients/java/*/target

.PHONY: check
check: test-typescript test-python test-java ## Run what a change must pass: all tests but those of LONG and LONG_MODULES, 200 deployments in virtual time, lint; about 8 minutes.
	@rm -f bin/tests
	$(call in-all,$(filter-out $(LONG_MODULES),$(MODULES)),$(call go-test,-p 4,$$(go list ./... | grep -vxF $(LONG:%=-e github.com/holdfast-io/holdfast/%))))
	@$(MAKE) --no-print-directory simulate lint

# Two lanes side by side, because most tests wait for a time to pass. Those of Go follow: they run what the first build.
.PHONY: test
test: ## Run all tests with the race detector, after installing the servers that they need; 20 to 50 minutes.
	@rm -f bin/tests
	@$(MAKE) --no-print-directory -j 2 servers build
	@$(MAKE) --no-print-directory -k -j 2 test-java test-typescript test-python
	@$(MAKE) --no-print-directory -k -j 2 test-root test-modules
	@$(MAKE) --no-print-directory simulate TRIALS=20
	@awk -f .ci/times.awk docs/results/times.txt bin/tests

.PHONY: test-root test-modules
test-root:
	$(call go-test,,$$(go list ./... | grep -E '$(ALONE)'))
	$(call go-test,-race,$$(go list ./... | grep -vE '$(ALONE)'))
test-modules: OF := $(filter-out . packaging,$(MODULES))
test-modules:
	$(call in-all,$(OF),$(call go-test,$$([[ " $(PLAIN) " == *" $$module "* ]] || echo -race),./...))

.PHONY: times
times: ## Record how long each package took in the last make test, for the next ones to compare.
	@{ echo '# The times of the packages in make test, as make times records them.'; grep '^ok' bin/tests | sort; } > docs/results/times.txt

.PHONY: night
night: ## Run all campaigns for HOURS (8), as root, and write docs/results; ARGS="-only simulate,faults".
	cd tools && go run ./night -hours $(HOURS) $(ARGS)

# What it builds is also what the conformance cases and the mutants run.
.PHONY: test-typescript
test-typescript: build ## Build the TypeScript client and test it on bin/holdfast, after installing what it needs.
	@bash .ci/servers typescript
	cd clients/typescript && export HOLDFAST_BINARY=$(CURDIR)/bin/holdfast && npm test && npm run check:built

# Each process of pytest has a node of its own, so the tests of files run side by side.
.PHONY: test-python
test-python: build ## Test the Python client on bin/holdfast, after installing what it needs; ARGS="-k sync".
	@bash .ci/servers python
	cd clients/python && HOLDFAST_BINARY=$(CURDIR)/bin/holdfast .venv/bin/pytest -q -n 2 --dist loadfile $(ARGS)

# What it builds is also what the conformance cases, the guards and the mutants run.
.PHONY: test-java
test-java: build ## Build the Java client and test it on bin/holdfast, after installing what it needs.
	@bash .ci/servers java
	cd clients/java && HOLDFAST_BINARY=$(CURDIR)/bin/holdfast $(MAVEN) -q -o verify

.PHONY: docs-python
docs-python: ## Write the reference of the Python client to dist/python-docs.
	@bash .ci/servers python
	clients/python/.venv/bin/pdoc --docformat google -o dist/python-docs holdfast_client holdfast_client.sync holdfast_client.fence holdfast_client.fence.file holdfast_client.fence.redis holdfast_client.fence.s3 holdfast_client.fence.sqlalchemy holdfast_client.fence.sqlite holdfast_client.testing

.PHONY: site
site: ## Write the site of the Markdown to dist/site; BASE=/holdfast/ if it is to be in a folder of its host.
	@bash .ci/servers site
	@mkdir -p bin/site
	GOOS=js GOARCH=wasm go build -trimpath -buildvcs=false -ldflags='-s -w' -o bin/site/fencing.wasm ./docs/site/fencing/wasm
	cp "$$(go env GOROOT)/lib/wasm/wasm_exec.js" bin/site
	cd docs/site && VERSION='$(VERSION)' BASE='$(BASE)' npx vitepress build .

.PHONY: test-site
test-site: site ## Write the site and test it in Chromium.
	node --test integration/page/browser/site.test.mjs

.PHONY: servers
servers: ## Install the servers that the tests need and that are missing.
	@bash .ci/servers

.PHONY: lint lint-clients lint-go
lint: ## Check style, likely mistakes and the import rules.
	@$(MAKE) --no-print-directory -k -j 2 lint-clients lint-go
lint-clients:
	@bash .ci/servers typescript
	cd clients/typescript && npm run --silent lint
	@bash .ci/servers python
	cd clients/python && .venv/bin/ruff check && .venv/bin/ruff format --check && .venv/bin/pyright
	@bash .ci/servers java
	cd clients/java && $(MAVEN) -q -o -Prelease -DskipTests verify
lint-go:
	cd tools && go test -count=1 ./... && go tool golangci-lint run
	for module in $(MODULES); do \
		(cd "$$module" && go tool -modfile=$(CURDIR)/tools/go.mod golangci-lint run -c $(CURDIR)/.golangci.yml); \
	done

.PHONY: check-generated
check-generated: dashboard-tools ## Fail if what make generate writes differs from its sources.
	$(PROTOGEN) -check 'messages/*.proto' 'messages/*/*.proto'
	$(DASHBOARD) | diff deploy/grafana/holdfast.json - || { echo 'deploy/grafana/holdfast.json differs from dashboard.js; run: make generate'; exit 1; }
	cd cmd/holdfast && go test -count=1 -run TestSettingsOfThePage ./internal/commands
	cd tools && go run ./night -check

.PHONY: dashboard-tools
dashboard-tools:
	@bash .ci/servers dashboard

.PHONY: smoke
smoke: build ## Test bin/holdfast from the command line.
	bash .ci/smoke

.PHONY: fuzz
fuzz: ## Run each fuzz target for FUZZTIME (30s); continue after a failure.
	@FUZZTIME=$(FUZZTIME) bash .ci/fuzz

.PHONY: fuzz-blind
fuzz-blind: ## Run each fuzz target EXECUTIONS (1000000) times on mutated seeds, without the engine of Go.
	@EXECUTIONS=$(EXECUTIONS) bash .ci/fuzz -blind

.PHONY: soak
soak: ## Load one node, which is restarted again and again, for SOAK (5m); RACE=-race; ARGS="-soak.clients 500 -soak.seed 7".
	go test -count 1 -timeout 0 -v $(RACE) -run '^TestSoak$$' ./integration/soak -soak.for $(SOAK) $(ARGS)

.PHONY: names
names: ## Lock NAMES (200000) different names once each, and print what the node uses afterwards; ARGS="-names.bound 1000000".
	go test -count 1 -timeout 0 -v -run '^TestNames$$' ./integration/soak -names.count $(NAMES) $(ARGS)

.PHONY: kills
kills: ## Kill a server KILLS (100) times under running watches.
	go test -race -count 1 -timeout 0 -v -run Killed ./integration/watch -watch.kills $(KILLS)

.PHONY: search
search: ## Search everything that can happen to a lock and to a shard, DEEPER (2) moves further than in each test run; ARGS="-within 10m".
	go test -count 1 -timeout 0 -v -run '^TestSearch' ./actors/lease ./actors/ledger -deeper $(DEEPER) $(ARGS)

.PHONY: simulate
simulate: TRIALS := 200
simulate: ## Try TRIALS (200) deployments in virtual time, from SEED (0) on, in two processes; ARGS="-simulation.for 1h".
	go test -c -o bin/simulation.test ./integration/simulation
	@cd integration/simulation && pids=(); for half in 0 1; do \
		../../bin/simulation.test -test.v -test.timeout 0 -test.run '^TestTrials$$' -simulation.trials $$(($(TRIALS) / 2)) \
			-simulation.seed $$(($(SEED) + half * 1000000)) $(ARGS) | grep -v '^=== \|^    --- PASS' & \
		pids+=($$!); \
	done; failed=0; for pid in "$${pids[@]}"; do wait "$$pid" || failed=1; done; exit $$failed

.PHONY: hostile
hostile: ## Attack a node with clients that speak the raw NATS protocol at random for HOSTILE (10m); ARGS="-hostile.seed 7 -hostile.attackers 8".
	go test -count 1 -timeout 0 -v -run '^TestHostile$$' ./integration/hostile -hostile.for $(HOSTILE) $(ARGS)

.PHONY: faults
faults: ## Inject faults into clusters under load for FAULTS (30m), as root, every fourth one of a tenant with verified owners; SEED=7 RACE=-race ARGS="-faults.kinds kill,pause".
	$(if $(RACE),GOFLAGS=$(RACE)) go test -count 1 -timeout 0 -v -run '^TestFaults$$' ./integration/faults -faults.for $(FAULTS) -faults.seed $(SEED) $(ARGS)

.PHONY: agent-trials
agent-trials: ## Pause TRIALS (1000) holders past their leases under the fencing agent; ARGS="-agent.seed 7 -agent.resources 4".
	go test -count 1 -timeout 0 -v ./integration/agent -agent.trials $(TRIALS) $(ARGS)

.PHONY: mutants
mutants: ## Plant bugs in the product, one at a time, and check that the tests find each, as root; takes minutes.
	go test -count 1 -timeout 0 -v -run '^TestMutantsAreFound$$' ./integration/mutants -mutants.find $(ARGS)

.PHONY: mutants-simulated
mutants-simulated: SIMULATE := 5m
mutants-simulated: ## Try the simulation for SIMULATE (5m) with each mutant, and count what it finds; takes hours.
	go test -count 1 -timeout 0 -v -parallel 2 -run '^TestMutantsAreSimulated$$' ./integration/mutants \
		-mutants.simulate $(SIMULATE) $(ARGS)

.PHONY: bench
bench: ## Run the benchmarks that match BENCH (all), COUNT (1) times.
	go test -run '^$$' -bench '$(BENCH)' -count $(COUNT) -timeout 1h ./integration/bench

.PHONY: bench-tenants
bench-tenants: ## Measure a tenant while another one floods the service, ROUNDS (3) times.
	go test -run '^$$' -bench Flood -benchtime $(ROUNDS)x -timeout 1h ./integration/tenants

.PHONY: bench-failover
bench-failover: ## Stop and kill each of three nodes ROUNDS (3) times, and measure the calls meanwhile.
	go test -run '^$$' -bench Failover -benchtime $(ROUNDS)x -timeout 2h ./integration/bench

.PHONY: bench-peers
bench-peers: servers ## Measure Holdfast and its peers in turns, in 50 minutes; ARGS="-rounds 2 -for 1s -against COMMIT"; ARGS=-help.
	@cd integration/peers && go run . $(ARGS)

.PHONY: bench-clients
bench-clients: ## Compare the clients of all languages with one another and with locks on Redis, ROUNDS (3) times.
	@bash .ci/servers languages
	clients/python/.venv/bin/pip install -q --no-deps -r integration/languages/python/requirements.txt
	cd clients/typescript && npm run --silent build
	cd clients/java && mvn -q -B -P languages -D skipTests -pl :holdfast-languages -am package
	go test -count 1 -timeout 0 -v -run '^TestFigures$$' ./integration/languages -languages.rounds $(ROUNDS) $(ARGS)

.PHONY: bench-fence
bench-fence: servers ## Measure the cost of each guard over the unguarded write.
	@for module in . clients $(GUARDS); do \
		(cd "$$module" && go test -run '^$$' -bench '^BenchmarkGuard$$' -benchtime $(FENCETIME) $$(test "$$module" = . && echo ./integration/fencekv ./integration/fencenats || echo ./...)); \
	done | tee /dev/stderr | awk -f .ci/bench-fence.awk

.PHONY: cover
cover: ## Measure test coverage: coverage.html.
	go test -coverpkg=./...,github.com/holdfast-io/holdfast/messages/...,github.com/holdfast-io/holdfast/clients/... -coverprofile=coverage.out ./...
	go tool cover -html=coverage.out -o coverage.html
	go tool cover -func=coverage.out | tail -n 1

.PHONY: house
house: ## Measure the structure of the code, and what a lone acquire runs through; ARGS="-v -field 'ttl_ms|TtlMs|ttlMs'".
	@way=$$(mktemp -d); trap 'rm -rf "$$way"' EXIT; mkdir "$$way/exit"; \
	go build -cover -covermode=atomic -coverpkg=./...,github.com/holdfast-io/holdfast/messages/...,github.com/holdfast-io/holdfast/clients/... -o "$$way/oneacquire" ./integration/oneacquire; \
	GOCOVERDIR="$$way/exit" "$$way/oneacquire" "$$way"; \
	go tool covdata textfmt -i="$$way" -o "$$way/lines"; \
	cd tools && go run ./house -acquire "$$way/lines" $(ARGS) ..

.PHONY: release
release: ## Make the release of VERSION=1.2.3 in dist/1.2.3, for a person to publish; KEY=private.pem signs it.
	@bash .ci/release '$(VERSION)' '$(KEY)'

.PHONY: release-check
release-check: ## Install everything of dist/VERSION in empty folders and use it; make the release again and compare.
	@bash .ci/release-check '$(VERSION)'

.PHONY: package
package: ## Build archives, deb, rpm, apk, image, chart, licences and bills of materials in dist; ARGS="-targets linux/amd64".
	rm -rf dist
	cd packaging && go run ./build -version '$(VERSION)' -time '$(TIME)' $(ARGS) ../dist

.PHONY: package-test
package-test: override VERSION = v0.0.0
package-test: override TIME = 1
package-test: ARGS = -targets linux/$(shell go env GOARCH)
package-test: package ## Build the packages of this machine; install, upgrade and remove the deb; run the image; as root.
	@bash .ci/servers image
	cd packaging && go test -count=1 ./oci ./release
	cd packaging && go test -count=1 ./linux ./image -dist '$(CURDIR)/dist'

.PHONY: package-check
package-check: package ## Build all packages twice and compare; install, upgrade and remove the deb; run the image; as root.
	@bash .ci/servers image
	bash .ci/package-check '$(VERSION)' '$(TIME)'
	cd packaging && go test -count=1 -v ./build ./chart
	cd packaging && go test -count=1 -v ./linux ./image -dist '$(CURDIR)/dist'
