.DEFAULT_GOAL := help
SHELL := bash
# The rules that come with make, tried for each of some 3,000 sources, took more than a second of each call.
MAKEFLAGS += --no-builtin-rules
BIN := node_modules/.bin

# Fails before any other step if Node.js is missing or too old.
ifneq ($(filter-out help clean,$(MAKECMDGOALS)),)
NODE_PROBLEM := $(shell if command -v node >/dev/null; then node tools/node-version.cjs 2>&1; else echo 'plat: needs Node.js 20.19 or newer, and there is no node on the PATH'; fi)
ifneq ($(NODE_PROBLEM),)
$(error $(NODE_PROBLEM))
endif
endif

## help: list what can be made
help:
	@sed -n 's/^## //p' $(MAKEFILE_LIST) | awk -F': ' '{printf "  %-10s %s\n", $$1, $$2}'

# A linked node_modules belongs to another checkout; npm ci would delete its content. Without its warnings: kubernetes-models asks for a newer Node.js for its
# code, of which none runs here; the build reads its declarations as text.
node_modules: package.json package-lock.json
	@if [ -L node_modules ]; then echo 'node_modules is a link: install where it points to' >&2; else npm ci --no-audit --no-fund --loglevel=error && touch node_modules; fi

## install: fetch the dependencies from the npm registry
install: node_modules

# Includes folders, since removing a file changes only its folder.
SOURCE_FOLDERS := src controllers informers console test bench examples tools
SOURCES := $(SOURCE_FOLDERS:=/.) $(shell find $(SOURCE_FOLDERS) -mindepth 1 -type d -o -name '*.ts' -o -name '*.tsx' -o -name '*.css' -o -name '*.html' -o -name '*.mjs' -o -name '*.cjs') tsconfig.json

dist/built: package.json package-lock.json $(SOURCES) | node_modules
	@echo 'building into dist/ and bin/'
	@node tools/build.mjs

## build: install, generate schemas, compile, bundle the programs into bin/; all of it only where something changed
build: dist/built

## binary: make one executable with all programs for this machine, dist/binary/plat (docs/install.md)
binary: build
	@node tools/binary.mjs

## binary-test: make the executable, and try it
binary-test: binary
	@node tools/test.mjs test/cli/executable.test.ts

## release: write package, executable, image, a list of what is bundled and checksums to dist/release (docs/releases.md)
release: binary
	@node tools/release.mjs

.PHONY: release release-test

## release-test: make the files of a release, and check and try them
release-test: release
	@node tools/test.mjs test/release/*.test.ts test/cli/executable.test.ts test/e2e/image.test.ts

## up: run a whole control plane in ./.plat, until Ctrl-C
up: build
	@bin/plat up

## demo: run the main job from end to end in a temporary directory and narrate it; AGENT=1: with a node that runs real containers (docs/nodes.md)
demo: build
	@bin/plat demo $(if $(AGENT),--agent) $(DEMO_FLAGS)

## lint: check the format, style and the rules of the house
lint: node_modules
	@$(BIN)/oxfmt --check $(SOURCE_FOLDERS) >/dev/null || { echo 'run `make format`:' >&2; $(BIN)/oxfmt --list-different $(SOURCE_FOLDERS) >&2; exit 1; }
	@node tools/wrap-prose.mjs --check
	$(BIN)/oxlint --deny-warnings

## format: format the sources, in lines of at most 140 characters, and the prose of comments and pages, in lines of at most 120
format: node_modules
	@node tools/wrap-prose.mjs
	$(BIN)/oxfmt $(SOURCE_FOLDERS)

## test: build, lint and run every test, or those named by TESTS="test/pki/chain.test.ts ..."
test: node_modules
	@$(MAKE) --no-print-directory -j2 build lint
	@node tools/test.mjs $(TESTS)

## test-quick: build and run the tests that start no program and do not take long, first those that changed since the main branch and those that depend on it
test-quick: build
	@node tools/test.mjs --quick

## test-count: check that the scripts into which `make test` combines test files declare the tests of every file
test-count: build
	@node tools/test-count.mjs

## fuzz: damage certificates and tokens, send a million random requests, then fill every list and map of every kind and send it through every write, pair lists of objects that are compared, and attack ports by connections; FUZZ_ROUNDS, FUZZ_REQUESTS, FUZZ_CASES, FUZZ_OF_EACH, FUZZ_SEED, FUZZ_ONLY, FUZZ_BYTES, FUZZ_PAIRS and FUZZ_ATTACKS choose
fuzz: build
	@FUZZ_ROUNDS=$${FUZZ_ROUNDS:-20} node tools/test.mjs test/pki/fuzz.test.ts test/pki/token-fuzz.test.ts
	@node --expose-gc dist/test/fuzz/index.js
	@node dist/test/sweep/index.js
	@node dist/test/sweep/pairs-run.js
	@node dist/test/fuzz/connections/index.js

## faults: kill, pause and cut off servers under concurrent clients, and check what the clients saw; FAULTS_MINUTES, FAULTS_SEED, FAULTS_ONLY and others choose (docs/testing.md)
faults: build
	@node dist/test/faults/index.js

## soak-watches: break the connections of informers in every way and check that their caches become right, beside the informers of other libraries; WATCHES_MINUTES and others choose
soak-watches: build
	@node --expose-gc dist/test/faults/watches/index.js

## soak: wear out a whole plane with churn, faults and clock jumps; check its caches, and that memory, handles, timers and files stay level; SOAK_MINUTES and others choose
soak: build
	@node --expose-gc dist/test/faults/soak/index.js

## node-drills: kill the agent and containerd, fill the disk and take the API server away under a node with real containers, and check that nothing is lost, stuck or left (six minutes); DRILLS chooses
node-drills: build
	@node dist/test/node/drills/index.js

## frameworks: install vitest, Jest, Mocha, Bun and Deno from the npm registry into a temporary directory, and run the test of an operator under them
frameworks: build
	@node dist/test/frameworks/index.js

## languages: run the commands of docs/testing-from in their examples: Go, Python, Java and Rust, with packages from their registries (minutes); ONLY=go,python selects, PLAT names another program than bin/plat
languages: build
	@node dist/test/languages/index.js

ALIKE ?= $(if $(PLAT_ORACLE),$(PLAT_ORACLE)/alike)

## alike: send the recorded requests of the original to a server, and print where the responses differ; ALIKE names the folder with run.sh and the recording
alike: build
	@[ -n '$(ALIKE)' ] || { echo 'make alike: name the folder with the recording, ALIKE=FOLDER; docs/testing.md describes how to make one' >&2; exit 2; }
	@bash '$(ALIKE)/run.sh' . $(ALIKE_ARGS) || [ $$? -eq 1 ]

## conformance: run the original's conformance tests, unchanged, by classes: E2E=path/to/e2e.test CLASSES=A,B,C,D,E; ONLY, IMAGES, PROCS and REPORTS choose (docs/conformance.md)
conformance: build
	@node dist/test/conformance/index.js

## conformance-images: write archives of the images of conformance tests from programs in a folder: PROGRAMS=folder IMAGES=folder (docs/conformance.md)
conformance-images: build
	@node dist/test/conformance/archives.js $(PROGRAMS) $(IMAGES)

## node-vm: check the node agent in a virtual machine with systemd, cgroups of version 2, NUMA nodes and swap (minutes; root, Debian packages and qemu)
node-vm: build
	@node test/vm/node-vm.mjs

## docs: write docs/flags.md, docs/controllers.md and the manual pages from their tables, and the pictures of the README and of the console
docs: build
	node tools/flags-doc.mjs
	node tools/man-pages.mjs
	node tools/plane-schema.mjs
	node tools/controllers-doc.mjs
	node tools/picture.mjs
	@command -v chromium >/dev/null && node tools/console-pictures.mjs || echo 'the pictures of the console stay: Chromium is not installed'

## api: write what the package exports to test/docs/api
api: build
	node tools/api-report.mjs

## bench: measure plat beside the raw limits of this machine and write the figures to bench/results/; ROWS=create,list selects, PLOTS=1 writes docs/performance too (docs/performance.md)
bench: build
	@node dist/bench/index.js $(if $(PLOTS),--plots) $(ROWS)

## plots: write the tables and plots of docs/performance.md from its figures and newer ones in bench/results/
plots: build
	@node dist/bench/index.js --only-plots

## clean: remove what was built
clean:
	rm -rf dist bin

.PHONY: help install build binary binary-test up demo lint format test test-quick test-count fuzz faults soak soak-watches frameworks languages alike conformance conformance-images node-vm docs api bench plots clean
