# SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only
"""`ringfence join --cgroup` on real kernels: control groups that belong to gangs.

Who is of which gang shows in what runs: one member of the highest gang spins on one CPU without
end, so that members of lower gangs stand still, and all else runs on the other CPUs.
"""

import tempfile
import unittest
from pathlib import Path

import guest_programs
import matrix
from test_enforce import SCENARIO

SPIN = Path(__file__).resolve().parent / "spin.c"
TIMEOUT_S = 500

SETTING = """
    set -e
    fail() { echo "FAILED: $*"; exit 1; }
    refused() { if "$@"; then fail "not refused: $*"; fi; }
    # The process, its threads and the time that each has run.
    ran() { for at in /proc/$1/task/*; do read -r ns rest <$at/schedstat; echo ${at##*/} $ns; done; }
    # How many threads of a process run, out of how many.
    running() {
        sleep 0.2
        ran $1 >/tmp/before
        sleep 0.4
        ran $1 >/tmp/after
        awk 'NR == FNR { before[$1] = $2; next }
             { total++; if ($2 - before[$1] > 40000000) run++ } END { print run + 0 " of " total }' \\
            /tmp/before /tmp/after
    }
    # expect TEXT PROCESS WHEN
    expect() { found=$(running $2); [ "$found" = "$1" ] || fail "$3: $found threads run, expected $1"; echo "$3: $1"; }

    ringfence enforce /scenario.toml &
    while [ ! -e /run/ringfence/enforced.json ]; do sleep 0.05; done
    ringfence exec --gang tau1 --cores 0 -- spin 1 &
    high=$!
    spin 2 &
    process=$!
    join() { ringfence join --gang $1 --cgroup $2; }
"""

# Of any hierarchy: $groups is its folder.
ANY_VERSION = """
    mkdir -p $groups/slam/inner/most $groups/other
    refused join tau3 $groups
    refused join tau3 /proc
    refused join tau3 $groups/none
    join tau3 $groups/slam
    expect "2 of 2" $process outside
    echo $process >$groups/slam/cgroup.procs
    expect "0 of 2" $process "put into the group"
    echo $process >$groups/other/cgroup.procs
    expect "2 of 2" $process "taken out of it"
    echo $process >$groups/slam/inner/most/cgroup.procs
    expect "0 of 2" $process "put below the group"
    echo $process >$groups/slam/cgroup.procs
    expect "0 of 2" $process "moved within it"

    # What is started in the group is of the gang, wherever it is moved before it comes to that.
    kill -STOP $high
    sh -c "echo \\$\\$ >$groups/slam/cgroup.procs; spin 1 & echo \\$! >/tmp/child; wait" &
    parent=$!
    while [ ! -s /tmp/child ]; do sleep 0.05; done
    child=$(cat /tmp/child)
    kill -CONT $high
    expect "0 of 1" $child "a child of what is in the group"
    echo $child >$groups/other/cgroup.procs
    expect "1 of 1" $child "the child, taken out"
    kill $child $parent

    # One that is a member by its number stays one, but for a group of another gang.
    spin 1 &
    named=$!
    ringfence join --gang tau2 $named
    expect "0 of 1" $named "a member by its number"
    echo $named >$groups/other/cgroup.procs
    expect "0 of 1" $named "a member by its number that is moved"
    echo $named >$groups/slam/cgroup.procs
    echo $named >$groups/other/cgroup.procs
    expect "1 of 1" $named "a member by its number that was in the group"

    # Groups of a gang take in what they have; the innermost decides.
    echo $named >$groups/slam/inner/cgroup.procs
    join tau1 $groups/slam/inner
    expect "1 of 1" $named "in a group that came to the highest gang"
    expect "0 of 2" $process "in the one around it"
    ringfence join --none --cgroup $groups/slam/inner
    expect "0 of 1" $named "back in the gang of the group around it"
    join tau1 $groups/slam
    expect "2 of 2" $process "in a group that came to the highest gang"
    join tau2 $groups/slam
    expect "0 of 2" $process "in a group that came to a lower one again"
    ringfence join --none --cgroup $groups/slam
    expect "2 of 2" $process "in a group that was taken back"
    expect "1 of 1" $named "in one below it"
    echo $process >$groups/other/cgroup.procs
    echo $process >$groups/slam/cgroup.procs
    expect "2 of 2" $process "put into a group of no gang"

    # A group that is made anew is another one.
    join tau3 $groups/slam/inner
    echo $named >$groups/other/cgroup.procs
    rmdir $groups/slam/inner/most $groups/slam/inner
    mkdir $groups/slam/inner
    echo $named >$groups/slam/inner/cgroup.procs
    expect "1 of 1" $named "in a group that was made anew"
"""

VERSION_2 = """
    groups=/sys/fs/cgroup
""" + ANY_VERSION + """
    # A child may begin in another group than its parent.
    join tau3 $groups/slam
    spin into $groups/slam >/tmp/child
    expect "0 of 1" $(cat /tmp/child) "started in the group"
    kill $(cat /tmp/child)
    rm /tmp/child
    kill -STOP $high
    sh -c "echo \\$\\$ >$groups/slam/cgroup.procs; spin into $groups/other >/tmp/child" &
    while [ ! -s /tmp/child ]; do sleep 0.05; done
    kill -CONT $high
    expect "1 of 1" $(cat /tmp/child) "started outside by what is in the group"

    mkdir -p $groups/pool/threads
    echo threaded >$groups/pool/threads/cgroup.type
    join tau3 $groups/pool/threads
    echo $process >$groups/pool/cgroup.procs
    echo $process >$groups/pool/threads/cgroup.threads
    expect "1 of 2" $process "one thread of two in the group"
"""

VERSION_1 = """
    groups=/sys/fs/cgroup/freezer
""" + ANY_VERSION + """
    echo $process >$groups/other/cgroup.procs
    join tau3 $groups/slam
    echo $process >$groups/slam/tasks
    expect "1 of 2" $process "one thread of two in the group"
    # Another hierarchy is another matter.
    mkdir /sys/fs/cgroup/unified/other
    echo $process >/sys/fs/cgroup/unified/other/cgroup.procs
    expect "1 of 2" $process "moved in another hierarchy"
    join tau3 /sys/fs/cgroup/unified/other
    expect "0 of 2" $process "in groups of two hierarchies"
"""


class Groups(unittest.TestCase):
    kernel = None

    def judge(self, script, **options):
        with tempfile.TemporaryDirectory() as folder:
            spin = guest_programs.compile_c(self.kernel.architecture, SPIN, Path(folder))
            files = {"/scenario.toml": SCENARIO, "/bin/spin": spin}
            guest = guest_programs.guest(self.kernel, [guest_programs.RINGFENCE], files, **options)
            self.addCleanup(guest.stop)
            outcome = guest.run(SETTING + script, timeout_s=TIMEOUT_S)
        self.assertEqual(outcome.why_failed, "")
        self.assertIn("found the topmost group", outcome.output)
        self.assertIn("found no control group", outcome.output)

    def test_who_is_in_a_group_of_version_2_is_of_its_gang(self):
        self.judge(VERSION_2)

    def test_who_is_in_a_group_of_version_1_is_of_its_gang(self):
        self.judge(VERSION_1, freezer_v1=True)


def load_tests(loader, tests, pattern):
    return matrix.on_kernels(loader, Groups, by_default=guest_programs.RINGFENCE_BY_DEFAULT)
