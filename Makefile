# SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only
# `make demo` and `make test` set this machine up by themselves (tools/setup);
# CONTRIBUTING.md lists the daily commands.
SHELL := /bin/bash
.SHELLFLAGS := -eu -o pipefail -c
.DEFAULT_GOAL := help

# What tools/setup put below .cache, if it had to.
WITH := if [ -f .cache/env ]; then . .cache/env; fi;
RINGFENCE := target/release/ringfence
# Programs that tests use.
BUILT := $(or $(CARGO_TARGET_DIR),$(CURDIR)/target)/debug
FUZZ_SECONDS ?= 600
# Property tests draw the same cases in every `make test`; `make explore` draws new ones.
export PROPTEST_RNG_SEED ?= 1
PROPTEST_CASES ?= 3000
KERNEL_TESTS := $(patsubst tests/kernel/test_%.py,%,$(wildcard tests/kernel/test_*.py))
# The longest first, so that none goes on alone at the end.
LONGEST := gangs run enforce units portable groups
GUEST_TESTS := $(foreach test,$(LONGEST) $(filter-out harness $(LONGEST),$(KERNEL_TESTS)),\
        $(addprefix guest-test-$(test)-,$(or $(RINGFENCE_ARCHITECTURES),arm64 amd64)))
HYP_TESTS := $(patsubst tests/hyp/test_%.py,hyp-test-%,$(wildcard tests/hyp/test_*.py))
# For what keeps one processor busy, as a guest does: two at a time, the output of each in one piece.
SIDE_BY_SIDE = $(MAKE) --no-print-directory --jobs=2 --output-sync=target
C_FILES = $(shell git ls-files '*.c' '*.h' '*.cpp' '*.hpp')
SHELL_FILES = $(shell git ls-files ':!fuzz/corpus' | xargs -r awk \
        'FNR == 1 && /^.!.*sh$$/ || FNR == 2 && /shellcheck shell=/ {print FILENAME} FNR == 2 {nextfile}')

.PHONY: help demo demo-live test setup-demo setup-test build built format format-check lint unit explore \
        proofs mutants side-by-side page-test trace-test kernel-test hyp-test hyp-overhead hyp-throughput \
        hyp-latency hyp-bus-events test-kernels fuzz bounds bench calibration results results-check framework \
        overhead operation-counts ar-hud-test ar-hud-clip docs generate clean harness-test $(GUEST_TESTS) $(HYP_TESTS)

help: ## List the commands
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "  make %-16s %s\n", $$1, $$2}' Makefile

demo: setup-demo build ## Run the main job: a steering network next to memory hogs, without and with RT-Gang
	@mkdir -p out
	@$(RINGFENCE) run scenarios/demo.toml -o out/demo.rfr
	@# The run has printed the summary.
	@$(RINGFENCE) report out/demo.rfr --html out/demo.html --perfetto out/demo.perfetto-trace > /dev/null
	@echo
	@echo "The report: out/demo.html   The timeline for ui.perfetto.dev: out/demo.perfetto-trace"

demo-live: setup-demo build ## The same question on this machine: a victim alone, beside a hog, under ringfence; needs root
	@python3 tools/demo-live

test: setup-test format-check lint proofs harness-test side-by-side ## Everything that must pass
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
	@$(WITH) cargo clippy --workspace --all-targets --locked -- -D warnings; shellcheck -x $(SHELL_FILES)
	@$(WITH) $(MAKE) --no-print-directory -C policy check

unit: ## All Rust tests
	@$(WITH) cargo test --workspace --locked

# What `make unit` has built: packages by themselves would be built again, with other features.
built:
	@$(WITH) cargo test --workspace --locked --no-run --quiet

explore: ## Property tests on new random cases, PROPTEST_CASES of each; not part of the tests
	@$(WITH) env -u PROPTEST_RNG_SEED PROPTEST_CASES=$(PROPTEST_CASES) \
	    cargo test --workspace --locked --no-fail-fast

proofs: ## Prove the policy core with Frama-C WP and Z3
	@$(WITH) $(MAKE) --no-print-directory -C policy prove

page-test: built ## Read the reports with readers that are not ours: Chromium, Perfetto's definitions
	@$(WITH) RINGFENCE_BUILT=$(BUILT) tests/report/run

trace-test: ## The checker of kernel traces: schedules with and without faults, real samples
	@$(WITH) python3 -m unittest discover -s tests/sched-trace

kernel-test: harness-test built ## Gangs on one real kernel of each architecture, in QEMU
	@$(SIDE_BY_SIDE) $(GUEST_TESTS)

hyp-test: built ## The hypervisor in QEMU: reservations to the line, faults contained, Linux on 1 and 2 vCPUs
	@$(SIDE_BY_SIDE) $(HYP_TESTS)

# All that would leave a processor idle by itself, or at times.
side-by-side: built
	@$(SIDE_BY_SIDE) unit $(GUEST_TESTS) ar-hud-clip page-test $(HYP_TESTS) results-check trace-test

harness-test:
	@$(WITH) python3 -m unittest discover -s tests/kernel -p test_harness.py

$(GUEST_TESTS): guest-test-%:
	@$(WITH) RINGFENCE_ARCHITECTURES=$(lastword $(subst -, ,$*)) RINGFENCE_BUILT=$(BUILT) \
	    python3 -m unittest discover -v -s tests/kernel -p test_$(firstword $(subst -, ,$*)).py

$(HYP_TESTS): hyp-test-%:
	@$(WITH) RINGFENCE_BUILT=$(BUILT) python3 -m unittest discover -v -s tests/hyp -p test_$*.py

hyp-overhead: setup-test ## What a reservation costs a guest; writes docs/src/results/hyp-overhead.md
	@$(WITH) tests/hyp/overhead.py

hyp-throughput: setup-test ## Lines by budget and period; writes docs/src/results/hyp-throughput.md
	@$(WITH) tests/hyp/throughput.py

hyp-latency: setup-test ## How late a guest's interrupts are; writes docs/src/results/hyp-latency.md
	@$(WITH) tests/hyp/latency.py

hyp-bus-events: setup-test ## Budgets of bus traffic by a plugin of QEMU's; writes docs/src/results/hyp-bus-events.md
	@$(WITH) tests/hyp/bus.py

test-kernels: export RINGFENCE_KERNELS ?= spread
test-kernels: setup-test kernel-test ## All kernel tests, on the oldest and newest usable Debian kernels of each architecture, too

mutants: setup-test ## Break the policy core in every listed way; writes docs/src/results/mutants.md
	@$(WITH) python3 policy/mutants/run.py

fuzz: ## Fuzz every parser; needs nightly Rust and cargo-fuzz
	@tools/fuzz $(FUZZ_SECONDS)

ar-hud-test: ## Build the case study AR-HUD and test it; not part of `make test`
	@$(MAKE) --no-print-directory -C casestudies/ar-hud test

# The rest of the project does not need what AR-HUD is built with; CI has it.
ar-hud-clip: ## Render 200 frames of AR-HUD and fly them, where its libraries are installed
	@missing=$$(tools/setup missing ar-hud); \
	if [ -z "$${CI:-}" ] && [ -n "$${missing// /}" ]; then \
	    echo "AR-HUD's clip: skipped without $$missing; make ar-hud-test installs that"; \
	else $(MAKE) --no-print-directory -C casestudies/ar-hud clip-test SEQUENCES=build/test-sequences COMPILERS=1; fi

bounds: ## Simulated responses against the bounds of the analysis, over 10,000 random task sets
	@$(WITH) RINGFENCE_TASK_SETS=10000 RINGFENCE_MEMORY_SETS=100 cargo test --release --locked \
	    -p ringfence-analysis --test schedulability -- simulated_responses --nocapture

bench: build ## Speed of the simulator, as ratios to a plain loop in the same run
	@$(RINGFENCE) bench engine
	@$(RINGFENCE) bench dram
	@$(RINGFENCE) bench dram --pattern rand
	@$(RINGFENCE) bench llc

results: build ## Run the scenarios of RT-Gang and H-MBR and measure the platforms again; writes docs/src/results
	@python3 tools/results

results-check: built ## Whether those pages are what a run gives
	@RINGFENCE=$(BUILT)/ringfence python3 tools/results --check

calibration: build ## Measure this machine, predict and compare; writes docs/src/results/calibration.md
	@mkdir -p out
	@$(RINGFENCE) calibrate -o out/this-machine.toml
	@$(RINGFENCE) calibrate --compare out/this-machine.toml --markdown docs/src/results/calibration.md

framework: build ## Count what TensorFlow adds to a network; writes docs/src/results/framework.md
	@python3 tools/framework

overhead: setup-test ## Count what a gang's pre-emption costs on real kernels; writes docs/src/results/overhead.md
	@$(WITH) python3 tools/overhead

operation-counts: ## Count what lbm, cutcp and triad compute, compiled for a Cortex-A53
	@$(WITH) python3 tools/operation-counts

docs: ## The book, in docs/book/output; installs mdBook below .cache once
	@$(WITH) command -v .cache/mdbook/bin/mdbook >/dev/null || \
	    cargo install --quiet --locked --root .cache/mdbook --no-default-features mdbook@0.4.52
	@.cache/mdbook/bin/mdbook build docs

generate: ## Schemas and the scenario reference
	@$(WITH) UPDATE=1 cargo test --locked -p ringfence-scenario

clean: ## Remove what was built, not what was set up
	rm -rf target out
