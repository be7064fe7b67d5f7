# SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only
# `make demo` and `make test` set this machine up by themselves (tools/setup);
# CONTRIBUTING.md lists the daily commands.
SHELL := /bin/bash
.SHELLFLAGS := -eu -o pipefail -c
.DEFAULT_GOAL := help

# What tools/setup put below .cache, if it had to.
WITH := if [ -f .cache/env ]; then . .cache/env; fi;
RINGFENCE := target/release/ringfence
C_FILES = $(shell git ls-files '*.c' '*.h')
SHELL_FILES = $(shell git ls-files | xargs -r grep -lE '^\#!.*(bash|/sh)|shellcheck shell=' 2>/dev/null)

.PHONY: help demo test setup-demo setup-test build format format-check lint unit \
        proofs mutants page-test fuzz bench docs generate clean

help: ## List the commands
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "  make %-14s %s\n", $$1, $$2}' Makefile

demo: setup-demo build ## Run the main job: SUSAN next to memory hogs, without and with RT-Gang
	@mkdir -p out
	@$(RINGFENCE) run scenarios/demo.toml -o out/demo.rfr
	@$(RINGFENCE) report out/demo.rfr --html out/demo.html --perfetto out/demo.perfetto-trace
	@echo
	@echo "The report: out/demo.html   The timeline for ui.perfetto.dev: out/demo.perfetto-trace"

test: setup-test format-check lint proofs unit page-test ## Everything that must pass
	@echo "make test: all passed"

setup-demo:
	@tools/setup demo

setup-test:
	@tools/setup test

build: ## Build the ringfence command
	@$(WITH) cargo build --release --locked -p ringfence-cli

format: ## Format all code
	@$(WITH) cargo fmt --all; clang-format-19 -i $(C_FILES)

format-check:
	@$(WITH) cargo fmt --all --check; clang-format-19 --dry-run -Werror $(C_FILES)

lint: ## Clippy, shellcheck, and the policy core under three compilers
	@$(WITH) cargo clippy --workspace --all-targets --locked -- -D warnings; \
	shellcheck -x $(SHELL_FILES); $(MAKE) --no-print-directory -C policy check

unit: build ## All Rust tests
	@$(WITH) cargo test --workspace --locked

proofs: ## Prove the policy core with Frama-C WP and Z3
	@$(WITH) $(MAKE) --no-print-directory -C policy prove

clean: ## Remove what was built, not what was set up
	rm -rf target out
