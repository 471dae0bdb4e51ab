.DEFAULT_GOAL := help
SHELL := bash
BIN := node_modules/.bin

## help: list what can be made
help:
	@sed -n 's/^## //p' $(MAKEFILE_LIST) | awk -F': ' '{printf "  %-10s %s\n", $$1, $$2}'

# A linked node_modules belongs to another checkout, and npm ci would empty it through the link.
node_modules: package.json package-lock.json
	@if [ -L node_modules ]; then echo 'node_modules is a link: install where it points to' >&2; else npm ci --no-audit --no-fund && touch node_modules; fi

## install: fetch the dependencies from the npm registry
install: node_modules

## build: install, generate schemas, compile, bundle the programs into bin/
build: node_modules
	node tools/schema.mjs
	rm -rf dist/src dist/controllers dist/informers dist/test dist/bench dist/examples
	$(BIN)/tsc -p .
	node tools/bundle.mjs

## up: run a whole control plane in ./.plat, until Ctrl-C
up: build
	bin/plat up

## demo: run the main job from end to end in a temporary directory and narrate it
demo: build
	bin/plat demo

## lint: check style and the rules of the house
lint: node_modules
	$(BIN)/oxlint --deny-warnings

## test: build, lint and run every test, or those named by TESTS="test/pki/chain.test.ts ..."
test: build lint
	@node tools/test.mjs $(TESTS)

## docs: write docs/flags.md and docs/controllers.md from their tables
docs: build
	node tools/flags-doc.mjs
	node tools/controllers-doc.mjs

## bench: measure plat beside the raw limits of this machine
bench: build
	node dist/bench/index.js

## clean: remove what was built
clean:
	rm -rf dist

.PHONY: help install build up demo lint test docs bench clean
