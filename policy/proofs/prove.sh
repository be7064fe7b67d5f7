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

# Wall-clock limit for Z3 on one goal. The hardest take a few seconds on a busy
# machine, most of them a few hundredths; the limit only has to stand a busier one.
goal_timeout_s=30

# Z3 in three settings, each tried on a goal until one proves it. Without
# smt.auto_config=false Z3 picks its strategy from the whole problem and gets lost
# in the axioms of WP's memory model. Model-based instantiation (mbqi) helps some
# goals and never ends on others; those get along without it, and with instances of
# instances put off, of which goals over all cores of a domain have many. Where a goal
# names predicates that read much memory, z3_definitions.py says when to unfold them.
z3=$(command -v z3)
z3_version=$(z3 -version | grep -oE '[0-9]+(\.[0-9]+)+' | head -1)
# It starts once a goal: the interpreter itself, not what chooses one, and without what is installed.
python=$(python3 -c 'import sys; print(sys.executable)')
"$python" -c '' 2>/dev/null || python=python3
# An unpacked Why3 prints where it would have been installed.
why3_data=${WHY3DATA:-$(why3 --print-datadir)}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
{
    echo "import \"$why3_data/drivers/z3_471_nobv.drv\""
    cat proofs/redundant_lemmas.drv
} >"$work/z3.drv"
cat >"$work/why3.conf" <<EOF
[main]
magic = 14
loadpath = "$why3_data/stdlib"

[prover]
name = "Z3"
version = "$z3_version"
shortcut = "z3"
driver = "$work/z3.drv"
command = "$z3 -smt2 -T:%t smt.auto_config=false smt.random_seed=42 -st %f"

[prover]
name = "Z3"
alternative = "ematching"
version = "$z3_version"
shortcut = "z3-ematching"
driver = "$work/z3.drv"
command = "$z3 -smt2 -T:%t smt.auto_config=false smt.mbqi=false smt.qi.eager_threshold=5 smt.random_seed=42 -st %f"

[prover]
name = "Z3"
alternative = "definitions"
version = "$z3_version"
shortcut = "z3-definitions"
driver = "$work/z3.drv"
command = "$python -I -S $PWD/proofs/z3_definitions.py $z3 %f -smt2 -T:%t smt.auto_config=false smt.mbqi=false smt.qi.eager_threshold=5 smt.random_seed=42 -st"
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

# The option that selects a header's own lemmas, if it states any: -wp-fct leaves them out.
lemmas_of() {
    grep -oE '^  lemma \w+' "include/ringfence/$1.h" | awk '{print $2}' | paste -sd, |
        sed -n 's/^./-wp-prop=&/p'
}

failed=0
for header in "${headers[@]}"; do
    log="$work/$header.log"
    : >"$log"
    # shellcheck disable=SC2046  # no word where there is no lemma
    for selection in "-wp-fct=$(functions_of "$header")" $(lemmas_of "$header"); do
        frama-c -cpp-extra-args=-Iinclude -wp -wp-rte -wp-prover z3-definitions,z3,z3-ematching -wp-cache none \
            -wp-par "$(nproc)" -wp-timeout "$goal_timeout_s" "$selection" \
            "include/ringfence/$header.h" >"$work/run.log" 2>&1 || true
        grep -q 'Proved goals' "$work/run.log" || echo "Error: no goal for $selection" >>"$log"
        cat "$work/run.log" >>"$log"
    done
    read -r proved total < <(sed -nE 's/.*Proved goals: *([0-9]+) *\/ *([0-9]+).*/\1 \2/p' "$log" |
        awk '{proved += $1; total += $2} END {print proved + 0, total + 0}')
    if [ "$total" -gt 0 ] && [ "$proved" -eq "$total" ] && ! grep -q '^Error' "$log"; then
        echo "$header.h: $proved/$total goals proved"
    else
        echo "$header.h: $proved/$total goals proved; not proved:"
        grep -E 'Failed|Goal .* : |Error|Warning|abort' "$log" | grep -v ': Valid'
        failed=1
    fi
done
exit "$failed"
