# SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only
"""The parts of the harness that need no guest."""

import json
import struct
import subprocess
import tempfile
import unittest
from pathlib import Path
from unittest import mock

import btf
import debian
import emulator
import images
import initramfs
import kernel_log
import matrix
from debian import FetchError, Unavailable
from waits import waits_us


class KernelLog(unittest.TestCase):
    FAILURES = (
        "[    7.840650] Kernel panic - not syncing: Attempted to kill init! exitcode=0x00000100",
        "[   85.747797] watchdog: BUG: soft lockup - CPU#0 stuck for 26s! [swapper/0:0]",
        "[   13.057869] BUG: scheduling while atomic: victim/12/0x00000002",
        "[    4.000001] kernel BUG at kernel/sched/core.c:123!",
        "[    4.000001] Oops: general protection fault, probably for non-canonical address: 0000 [#1] SMP",
        "[    4.000001] Unable to handle kernel NULL pointer dereference at virtual address 0000000000000008",
        "[    4.000001] Internal error: Oops: 0000000096000004 [#1]  SMP",
        "[    4.000001] WARNING: CPU: 1 PID: 12 at kernel/sched/ext.c:123 scx_claim_exit+0x10/0x20",
        "[    4.000001] WARNING: kernel/sched/ext.c:123 at scx_claim_exit+0x10/0x20, CPU#1: victim/12",
        "[   40.000001] rcu: INFO: rcu_preempt self-detected stall on CPU",
        "[   40.000001] rcu: INFO: rcu_preempt detected stalls on CPUs/tasks:",
        "[   40.000001] rcu: INFO: rcu_preempt detected expedited stalls on CPUs/tasks: { 1-... }",
        "[  140.000001] INFO: task victim:12 blocked for more than 120 seconds.",
        "[   13.057869] watchdog: Watchdog detected hard LOCKUP on cpu 1",
        "[   13.057869] victim invoked oom-killer: gfp_mask=0xcc0(GFP_KERNEL), order=0, oom_score_adj=0",
        '[   13.057869] sched_ext: BPF scheduler "probe" disabled (runnable task stall)',
        '[   13.057869] sched_ext: BPF scheduler "probe" disabled (runtime error)',
        "[   13.057869][   T12] BUG: with the thread that printed it",
    )
    HARMLESS = (
        "WARNING: what a program prints has no time",
        "BUG: nor this",
        '[    6.489956] sched_ext: BPF scheduler "probe" enabled',
        '[    6.866746] sched_ext: BPF scheduler "probe" disabled (unregistered from user space)',
        "[    0.000000] Warning: unable to open an initial console.",
        "[    1.234567] rcu: Hierarchical RCU implementation.",
    )

    def test_failures_are_found(self):
        for line in self.FAILURES:
            with self.subTest(line):
                self.assertEqual(kernel_log.failures(f"some program's words {line}\r\n"), [line])

    def test_harmless_lines_are_not(self):
        self.assertEqual(kernel_log.failures("\n".join(self.HARMLESS)), [])

    def test_allowed_lines_are_not(self):
        log = "\n".join(self.FAILURES[:3])
        self.assertEqual(kernel_log.failures(log, ["soft lockup", r"scheduling.*victim/\d+"]), [self.FAILURES[0]])


def made_btf(functions):
    """BTF with these functions: parameter names by function name."""
    strings, types = b"\0", b""

    def name(text):
        nonlocal strings
        strings += text.encode() + b"\0"
        return len(strings) - len(text) - 1

    types += struct.pack("<4I", name("int"), 1 << 24, 4, 32)
    for number, (function, parameters) in enumerate(functions.items()):
        types += struct.pack("<3I", 0, btf.KIND_FUNC_PROTO << 24 | len(parameters), 0)
        types += b"".join(struct.pack("<2I", name(parameter), 1) for parameter in parameters)
        types += struct.pack("<3I", name(function), btf.KIND_FUNC << 24, 2 + 2 * number)
    return btf.HEADER.pack(btf.MAGIC, 0, len(types), len(types), len(strings)) + types + strings


class Types(unittest.TestCase):
    FUNCTIONS = {
        "scx_bpf_whole": ["cpu"],
        "scx_bpf_split": ["cpu", "flags"],
        "scx_bpf_split_impl": ["cpu", "flags", "aux"],
        "scx_bpf_broken": ["cpu", "aux"],
        "scx_bpf_alone": [],
        "bpf_prog_put": ["aux"],
    }

    def test_a_hidden_parameter_that_was_left_in_is_found(self):
        functions, unusable = btf.sched_ext_functions(made_btf(self.FUNCTIONS))
        self.assertEqual(functions, ["scx_bpf_alone", "scx_bpf_broken", "scx_bpf_split", "scx_bpf_whole"])
        self.assertEqual(unusable, ["scx_bpf_broken"])

    def test_types_are_found_in_an_image(self):
        types = made_btf(self.FUNCTIONS)
        image = bytes(4096) + btf.MAGIC + bytes(100) + types + bytes(4096)
        self.assertEqual(btf.of_image(image), types)

    def test_an_image_without_types_or_of_another_compression_is_refused(self):
        with self.assertRaisesRegex(btf.BtfError, "no BTF"):
            btf.of_image(bytes(4096))
        image = bytearray(8192)
        image[0x202:0x206] = b"HdrS"
        with self.assertRaisesRegex(btf.BtfError, "something else than zstd"):
            btf.of_image(bytes(image))


class Sources(unittest.TestCase):
    def origins(self, **files):
        with tempfile.TemporaryDirectory() as folder:
            (Path(folder) / "sources.list.d").mkdir()
            for name, text in files.items():
                place = "sources.list" if name == "main" else "sources.list.d/" + name.replace("_", ".")
                (Path(folder) / place).write_text(text, encoding="utf-8")
            return debian.origins(folder, "bookworm")

    def test_stanzas(self):
        text = (
            "# a comment\nTypes: deb deb-src\nURIs: http://one.example/debian\n# another\n http://two.example/debian\n"
            "Suites: bookworm bookworm-updates\nComponents: main contrib\nSigned-By:\n -----BEGIN\n .\n key\n\n"
            "Types: deb\nURIs: http://three.example/debian\nSuites: bookworm-security\nComponents: main\n\n"
            "Types: deb-src\nURIs: http://four.example/debian\nSuites: bookworm\nComponents: main\n\n"
            "Types: deb\nURIs: http://five.example/debian\nSuites: bookworm\nComponents: contrib\n"
        )
        signed = "\n -----BEGIN\n .\n key"
        self.assertEqual(
            self.origins(debian_sources=text),
            [("http://one.example/debian", signed), ("http://two.example/debian", signed)],
        )

    def test_lines(self):
        text = (
            "# deb http://no.example/debian bookworm main\ndeb-src http://no.example/debian bookworm main\n"
            "deb [arch=amd64 signed-by=/key.gpg] http://one.example/debian bookworm contrib main\n"
        )
        other = "deb http://two.example/debian/ bookworm main\ndeb http://three.example/apt stable main\n"
        expected = [("http://one.example/debian", "/key.gpg"), ("http://two.example/debian/", None)]
        self.assertEqual(self.origins(main=text, more_list=other, more_save=text), expected)

    def test_another_distribution(self):
        with tempfile.NamedTemporaryFile("w", encoding="utf-8") as file:
            file.write('PRETTY_NAME="Ubuntu 24.04"\nID=ubuntu\nID_LIKE=debian\nVERSION_CODENAME=noble\n')
            file.flush()
            with self.assertRaisesRegex(Unavailable, "this is Ubuntu 24.04, whose apt has no Debian packages"):
                debian.machine_release(file.name)

    def test_disabled_and_missing_sources(self):
        with self.assertRaisesRegex(Unavailable, "no component main of Debian bookworm"):
            text = "Types: deb\nURIs: http://one.example\nSuites: bookworm\nComponents: main\n"
            self.origins(debian_sources=f"Enabled: no\n{text}")


class Waits(unittest.TestCase):
    def waits(self, *events):
        """Those of `rcu`, whose pid is 15, each event given as microseconds and what happened."""
        text = {
            "woken": "sched_wakeup: comm=rcu pid=15 prio=120 target_cpu=001",
            "another": "sched_wakeup: comm=sh pid=16 prio=120 target_cpu=001",
            "runs": switch("sh-16", "S", "rcu-15"),
            "stopped": switch("rcu-15", "R+", "sh-16"),
            "sleeps": switch("rcu-15", "I", "sh-16"),
        }
        return waits_us("".join(f" x-1 [001] d..2. 3.{us:06}: {text[what]}\n" for us, what in events), ["rcu"])

    def test_from_the_first_wakeup_or_a_stop_to_the_switch(self):
        self.assertEqual(self.waits((10, "woken"), (15, "another"), (20, "woken"), (40, "runs")), [30])
        self.assertEqual(self.waits((10, "stopped"), (40, "runs"), (50, "sleeps"), (60, "woken"), (61, "runs")), [30, 1])

    def test_a_wakeup_of_a_thread_that_runs_begins_none(self):
        self.assertEqual(self.waits((10, "runs"), (11, "woken"), (20, "sleeps"), (90, "woken"), (95, "runs")), [5])


def switch(prev, state, following):
    (prev_comm, prev_pid), (comm, pid) = prev.split("-"), following.split("-")
    return (
        f"sched_switch: prev_comm={prev_comm} prev_pid={prev_pid} prev_prio=120 prev_state={state} "
        f"==> next_comm={comm} next_pid={pid} next_prio=120"
    )


class Choice(unittest.TestCase):
    """Of kernels, from an index and a cache that are made up."""

    INDEX = {
        "trixie-backports": [
            "linux-binary-7.0.9+deb13-cloud-amd64", "linux-binary-7.0.13+deb13-cloud-amd64",
            "linux-image-7.0.13+deb13-cloud-amd64", "linux-binary-unsigned-7.2.1+deb13-cloud-amd64",
            "linux-image-6.18.5+deb13-cloud-amd64", "linux-image-7.0.13+deb13-cloud-amd64-dbg",
        ],
        "trixie": ["linux-image-6.18.9+deb13-cloud-amd64", "linux-image-6.12.107+deb13-cloud-amd64"],
        "bookworm": ["linux-image-6.1.0-9-cloud-amd64", "linux-image-6.1.0-41-cloud-amd64"],
        "bullseye": [],
    }

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.cache = Path(folder.name)
        for patch in (
            mock.patch.object(debian, "CACHE", self.cache),
            mock.patch.object(images, "CACHE", self.cache),
            mock.patch.object(debian.Suite, "update", side_effect=AssertionError),
            mock.patch.object(debian.Suite, "names", lambda suite, _pattern: sorted(self.INDEX[suite.name])),
        ):
            patch.start()
            self.addCleanup(patch.stop)

    def put(self, version, functions=50, unusable=()):
        folder = self.cache / "amd64" / version
        folder.mkdir(parents=True)
        facts = {"sched_ext_functions": functions, "unusable_functions": list(unusable)}
        (folder / images.FACTS).write_text(json.dumps(facts), encoding="utf-8")

    def test_the_newest_of_each_series(self):
        offered = images.offered("amd64")
        self.assertEqual(list(offered), ["7.0.13", "7.0.9", "6.18.5", "6.12.107"])
        self.assertEqual(images.newest(offered), {"7.0": "7.0.13", "6.18": "6.18.5", "6.12": "6.12.107"})

    def test_a_series_or_a_version_of_the_index(self):
        for wanted, package in (
            ("7.0", "linux-binary-7.0.13+deb13-cloud-amd64"),
            ("7.0.9", "linux-binary-7.0.9+deb13-cloud-amd64"),
            ("6.12", "linux-image-6.12.107+deb13-cloud-amd64"),
            ("6.1", "linux-image-6.1.0-41-cloud-amd64"),
        ):
            self.assertEqual(images.choose("amd64", wanted)[2], package)
        with self.assertRaisesRegex(images.NotOffered, "no kernel 7.2 for amd64; it has 7.0.13"):
            images.choose("amd64", "7.2")

    def test_what_is_fetched_needs_no_index(self):
        self.put("7.0.9")
        with mock.patch.object(images, "choose", side_effect=AssertionError):
            self.assertEqual(images.find("amd64", "7.0").version, "7.0.9")
            self.assertEqual(images.find("amd64", "7.0.9").version, "7.0.9")

    def test_an_old_index_is_fetched_anew(self):
        fetch = mock.patch.object(images, "fetch", side_effect=[FetchError("gone"), "kernel"])
        with fetch, mock.patch.object(images, "update") as update:
            self.assertEqual(images.find("amd64", "7.0"), "kernel")
            update.assert_called_once()

    def test_the_preferred_one_can_be_used(self):
        self.put("7.0.13", unusable=["scx_bpf_kick_cpu"])
        self.put("6.18.5")
        self.put("6.12.107", functions=0)
        self.assertEqual(images.preferred("amd64").version, "6.18.5")
        self.assertIn("1 of 50", images.find("amd64", "7.0").why_unusable)
        self.assertEqual(images.find("amd64", "6.12").why_unusable, "sched_ext is off")


    def test_the_oldest_is_the_oldest_that_there_is(self):
        self.put("6.1.0-41", functions=0)
        self.assertEqual(images.oldest("amd64").version, "6.1.0-41")
        with mock.patch.object(images, "choose", side_effect=images.NotOffered("none")):
            with self.assertRaisesRegex(images.NotOffered, "for arm64 is one of 5.10, 6.1"):
                images.oldest("arm64")

    def test_a_matrix_has_three_versions(self):
        kernels = [images.Kernel("amd64", version, self.cache, 50, ()) for version in ("7.3.4", "7.0.13", "6.18.15")]
        off = images.Kernel("amd64", "6.12.107", self.cache, 0, ())
        with mock.patch.object(images, "matrix", return_value=[*kernels, off]):
            self.assertEqual(matrix.usable("amd64"), kernels)
        with mock.patch.object(images, "matrix", return_value=[*kernels[:2], off]):
            with self.assertRaisesRegex(FetchError, "2 kernels for amd64 have a usable sched_ext, expected 3"):
                matrix.usable("amd64")


class Emulators(unittest.TestCase):
    def chosen(self, version):
        """The command, on a machine whose own QEMU is of this version."""
        said = mock.Mock(stdout=f"QEMU emulator version {version}\nCopyright\n", stderr="")
        with (
            mock.patch.object(emulator.shutil, "which", return_value="/usr/bin/qemu"),
            mock.patch.object(emulator.subprocess, "run", return_value=said),
            mock.patch.object(emulator, "backported", return_value=("backported",)),
        ):
            return emulator.command.__wrapped__("arm64")

    def test_one_that_is_not_fair_is_not_used(self):
        for version in ("7.2.22 (Debian 1:7.2+dfsg-7+deb12u18)", "8.0.5"):
            self.assertEqual(self.chosen(version), ("backported",))
        for version in ("8.1.0", "10.0.2 (Debian 1:10.0.2+ds-2)"):
            self.assertEqual(self.chosen(version), ("qemu-system-aarch64",))

    def test_what_is_none_is_named(self):
        with self.assertRaisesRegex(emulator.EmulatorError, "true --version says no version"):
            emulator.version(("true",))
        with mock.patch.object(emulator.shutil, "which", return_value=None):
            with self.assertRaisesRegex(emulator.EmulatorError, "qemu-system-x86_64 is not installed; `tools/setup"):
                emulator.command.__wrapped__("amd64")


class Libraries(unittest.TestCase):
    def test_libraries_of_libraries_are_found_and_missing_ones_named(self):
        with tempfile.TemporaryDirectory() as name:
            folder = Path(name)
            (folder / "inner.c").write_text("int inner(void) { return 1; }\n", encoding="utf-8")
            (folder / "outer.c").write_text("int inner(void); int outer(void) { return inner(); }\n", encoding="utf-8")
            (folder / "main.c").write_text("int outer(void); int main(void) { return outer(); }\n", encoding="utf-8")
            for command in ("-shared -o libinner.so inner.c", "-shared -o libouter.so outer.c -L. -linner",
                            "-o main main.c -L. -louter -Wl,-rpath,$ORIGIN -Wl,-rpath-link,."):
                subprocess.run(["cc", *command.split()], cwd=folder, check=True)
            machine = next(name for name, (kind, _) in initramfs.MACHINES.items() if kind == initramfs.platform.machine())
            with self.assertRaisesRegex(initramfs.LibraryError, "libouter.so needs libinner.so"):
                initramfs.with_libraries({"/bin/main": folder / "main"}, machine)
            roots = [folder / "root"]
            (folder / "root/usr/lib").mkdir(parents=True)
            (folder / "libinner.so").rename(folder / "root/usr/lib/libinner.so")
            found = initramfs.with_libraries({"/bin/main": folder / "main", "/etc/text": folder / "main.c"}, machine, roots)
            self.assertEqual(found["/lib/libinner.so"], folder / "root/usr/lib/libinner.so")
            self.assertEqual(found["/lib/libouter.so"], folder / "libouter.so")
            self.assertIn("/lib/libc.so.6", found)
            other = next(name for name in initramfs.MACHINES if name != machine)
            with self.assertRaisesRegex(initramfs.LibraryError, f"the guest is {other}"):
                initramfs.with_libraries({"/bin/main": folder / "main"}, other)


if __name__ == "__main__":
    unittest.main()
