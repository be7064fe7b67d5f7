#!/bin/bash
# SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only
#
# Proves the contracts of the policy headers with Frama-C WP and Z3, and that no
# run-time error can occur in them. Prints goals proved/total per header; fails
# unless all are proved.
#
# usage: prove.sh [HEADER...]   names without .h; all of policy/include by default
set -euo pipefail
cd "$(dirname "$0")/.."

# Debian 13 has no Frama-C, and Ubuntu 24.04 builds it without WP. Where
# everything must pass, a missing prover is a failure.
plugins=$(frama-c -plugins 2>/dev/null || true)
if [[ $plugins != *$'\nWP '* ]]; then
    echo "proofs: skipped, there is no Frama-C with the plug-in WP here (Debian 12 packages it)"
    [ -z "${CI:-}" ]
    exit
fi

# Wall-clock limit for Z3 on one goal. All goals take well under a second on an
# idle machine; the limit only has to stand a busy one.
goal_timeout_s=30

# Z3 in two settings, each tried on a goal until one proves it. Without
# smt.auto_config=false Z3 picks its strategy from the whole problem and gets lost
# in the axioms of WP's memory model. Model-based instantiation (mbqi) helps some
# goals and never ends on others.
z3=$(command -v z3)
z3_version=$(z3 -version | grep -oE '[0-9]+(\.[0-9]+)+' | head -1)
# An unpacked Why3 prints where it would have been installed.
why3_data=${WHY3DATA:-$(why3 --print-datadir)}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cat >"$work/why3.conf" <<EOF
[main]
magic = 14
loadpath = "$why3_data/stdlib"

[prover]
name = "Z3"
version = "$z3_version"
shortcut = "z3"
driver = "$why3_data/drivers/z3_471_nobv.drv"
command = "$z3 -smt2 -T:%t smt.auto_config=false smt.random_seed=42 -st %f"

[prover]
name = "Z3"
alternative = "ematching"
version = "$z3_version"
shortcut = "z3-ematching"
driver = "$why3_data/drivers/z3_471_nobv.drv"
command = "$z3 -smt2 -T:%t smt.auto_config=false smt.mbqi=false smt.arith.solver=2 smt.case_split=3 smt.random_seed=42 -st %f"
EOF
export WHY3CONFIG="$work/why3.conf"

headers=("$@")
if [ ${#headers[@]} -eq 0 ]; then
    mapfile -t headers < <(basename -s .h include/ringfence/*.h)
fi

# The functions that a header defines itself, not those of the headers it includes.
functions_of() {
    grep -oE '^(static inline .*)?\brf_[a-z0-9_]+\(' "include/ringfence/$1.h" |
        grep -oE 'rf_[a-z0-9_]+\(' | tr -d '(' | sort -u | paste -sd,
}

failed=0
for header in "${headers[@]}"; do
    log="$work/$header.log"
    frama-c -cpp-extra-args=-Iinclude -wp -wp-rte -wp-prover z3,z3-ematching -wp-cache none \
        -wp-timeout "$goal_timeout_s" -wp-fct "$(functions_of "$header")" \
        "include/ringfence/$header.h" >"$log" 2>&1 || true
    read -r proved total < <(sed -nE 's/.*Proved goals: *([0-9]+) *\/ *([0-9]+).*/\1 \2/p' "$log") || true
    if [ -n "${total:-}" ] && [ "$total" -gt 0 ] && [ "$proved" -eq "$total" ]; then
        echo "$header.h: $proved/$total goals proved"
    else
        echo "$header.h: ${proved:-0}/${total:-?} goals proved; not proved:"
        grep -E 'Failed|Goal .* : |Error|Warning|abort' "$log" | grep -v ': Valid'
        failed=1
    fi
    proved='' total=''
done
exit "$failed"
