# SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only
"""The Debian kernels that tests boot: which there are, fetched once, and what each can do."""

import json
import re
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

import btf
from debian import ARCHITECTURES, CACHE, FetchError, Suite, appearing, locked

# Where kernels are looked for; in the first suite that has a series its newest kernel is taken.
SUITES = ("trixie-backports", "trixie")
# Where one is looked for that those do not have: their kernels are older than sched_ext.
OLDER_SUITES = ("bookworm", "bullseye")
# Those, the oldest first.
OLDER = ("5.10", "6.1")
SCHED_EXT_SINCE = (6, 12)
# The series that a test takes which needs one kernel with sched_ext; then the newest of the others.
# These work on both architectures, and the first two are small to fetch.
PREFERRED = ("7.0", "6.19", "6.18")
# Up to 6.18 the image is in linux-image, later in linux-binary, which linux-image then needs. Older
# releases count a series' kernels behind a version that stays: 5.10.0-32.
PACKAGE = re.compile(r"linux-(?:image|binary)-(?P<version>\d+\.\d+\.\d+(?:-\d+)?)(?:\+[^-]+)?-cloud-(?:amd64|arm64)")
FACTS = "facts.json"
# What the harness needs, where it is not in the image, each after those that it needs itself.
MODULES = ("virtio", "virtio_ring", "virtio_pci_legacy_dev", "virtio_pci_modern_dev", "virtio_pci", "virtio_console")


class NotOffered(FetchError):
    """The index has no such kernel."""


@dataclass(frozen=True)
class Kernel:
    """A fetched kernel."""

    architecture: str
    version: str
    folder: Path
    sched_ext_functions: int
    unusable_functions: tuple

    @property
    def image(self):
        return self.folder / "vmlinuz"

    @property
    def modules(self):
        """To be loaded in this order before the harness can speak."""
        found = [self.folder / f"{name}.ko" for name in MODULES]
        return [path for path in found if path.exists()]

    @property
    def why_unusable(self):
        """Why sched_ext cannot be used with it; empty if it can."""
        if self.sched_ext_functions == 0:
            return "sched_ext is off"
        if self.unusable_functions:
            return (
                f"{len(self.unusable_functions)} of {self.sched_ext_functions} sched_ext functions have broken "
                f"prototypes, among them {', '.join(self.unusable_functions[:3])}"
            )
        return ""

    def __str__(self):
        return f"{self.version} {self.architecture}"


def numbers(version):
    return tuple(int(number) for number in re.split("[.-]", version))


def series_of(version):
    return ".".join(version.split(".")[:2])


def cached(architecture):
    """The fetched kernels by version, newest first."""
    found = {}
    for facts in (CACHE / architecture).glob(f"*/{FACTS}"):
        fields = json.loads(facts.read_text(encoding="utf-8"))
        version = facts.parent.name
        found[version] = Kernel(
            architecture, version, facts.parent, fields["sched_ext_functions"], tuple(fields["unusable_functions"])
        )
    return {version: found[version] for version in sorted(found, key=numbers, reverse=True)}


def offered_by(suite, architecture):
    """The package of every kernel in a suite, by version, newest first."""
    found = {}
    for name in suite.names(f"^linux-(image|binary)-[0-9.]+[^ ]*-cloud-{architecture}$"):
        package = PACKAGE.fullmatch(name)
        # The names are sorted: linux-image comes after linux-binary, and gives way to it.
        if package:
            found.setdefault(package["version"], name)
    return {version: found[version] for version in sorted(found, key=numbers, reverse=True)}


def offered(architecture):
    """(suite, package) of all kernels by version, newest first; each series from the first suite that has it."""
    found = {}
    for suite in map(Suite, SUITES):
        known = {series_of(version) for version in found}
        packages = offered_by(suite, architecture).items()
        found |= {version: (suite, name) for version, name in packages if series_of(version) not in known}
    return {version: found[version] for version in sorted(found, key=numbers, reverse=True)}


def newest(versions):
    """The newest version of each series, of versions that are sorted newest first."""
    found = {}
    for version in versions:
        found.setdefault(series_of(version), version)
    return found


def fetch(architecture, version, suite, package):
    """Fetches one kernel of the index."""
    print(f"kernels: fetching {package}", file=sys.stderr, flush=True)
    with appearing(CACHE / architecture / version) as folder, tempfile.TemporaryDirectory(dir=CACHE) as unpacked:
        suite.unpack(architecture, package, unpacked)
        images = [path for path in Path(unpacked).rglob("vmlinuz*") if path.is_file() and not path.is_symlink()]
        if len(images) != 1:
            raise FetchError(f"{package} holds {len(images)} kernel images, expected one")
        image = images[0].rename(folder / "vmlinuz").read_bytes()
        for module in Path(unpacked).rglob("*.ko"):
            if module.stem in MODULES:
                module.rename(folder / module.name)
        functions, unusable = [], []
        if numbers(version) >= SCHED_EXT_SINCE:
            functions, unusable = btf.sched_ext_functions(btf.of_image(image))
        facts = {"package": package, "suite": suite.name}
        facts |= {"sched_ext_functions": len(functions), "unusable_functions": unusable}
        (folder / FACTS).write_text(json.dumps(facts, indent=1), encoding="utf-8")
    return cached(architecture)[version]


def find(architecture, wanted):
    """The kernel of a version (`7.0.13`) or the newest of a series (`7.0`), fetched if it is not there."""
    if architecture not in ARCHITECTURES:
        raise FetchError(f"no kernels for `{architecture}`; the architectures are {', '.join(ARCHITECTURES)}")
    with locked():
        for version, kernel in cached(architecture).items():
            if wanted in (version, series_of(version)):
                return kernel
        try:
            return fetch(architecture, *choose(architecture, wanted))
        except NotOffered:
            raise
        except FetchError:
            # The index moves on, and old kernels leave.
            update()
            return fetch(architecture, *choose(architecture, wanted))


def choose(architecture, wanted):
    """Version, suite and package of a version or series in the index."""
    seen = []
    for suite in map(Suite, SUITES + OLDER_SUITES):
        packages = offered_by(suite, architecture)
        version = wanted if wanted in packages else newest(packages).get(wanted)
        if version is not None:
            return version, suite, packages[version]
        seen += packages
    raise NotOffered(
        f"the index has no kernel {wanted} for {architecture}; it has {', '.join(seen)}. "
        "`tests/kernel/kernels update` fetches it anew"
    )


def update():
    """Fetches the index anew; that of older releases when it is needed next."""
    for suite in OLDER_SUITES:
        Suite(suite).forget()
    for suite in SUITES:
        Suite(suite).update()


def matrix(architecture):
    """The newest kernel of every series in the index, fetched; newest first."""
    with locked():
        versions = newest(offered(architecture)).values()
    return [find(architecture, version) for version in versions]


def oldest(architecture):
    """The oldest kernel that Debian still has."""
    for series in OLDER:
        try:
            return find(architecture, series)
        except FetchError:
            # Old releases leave the archive as a whole.
            continue
    raise NotOffered(f"no kernel of {' or '.join(OLDER_SUITES)} for {architecture} is one of {', '.join(OLDER)}")


def preferred(architecture):
    """One kernel whose sched_ext can be used: the same one whatever was fetched before."""
    for series in PREFERRED:
        try:
            kernel = find(architecture, series)
        except NotOffered:
            continue
        if not kernel.why_unusable:
            return kernel
    for kernel in matrix(architecture):
        if not kernel.why_unusable:
            return kernel
    raise NotOffered(f"no kernel of {' or '.join(SUITES)} for {architecture} has a sched_ext that can be used")
