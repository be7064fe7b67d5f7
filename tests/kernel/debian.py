# SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only
"""Debian packages of any release and architecture, without root.

apt runs with lists, cache and configuration of its own below .cache/kernels, and what it
fetches is unpacked there: the machine's apt and dpkg are only read. Where the packages come
from is what the machine's own sources say.
"""

import contextlib
import fcntl
import glob
import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
CACHE = ROOT / ".cache/kernels"
ARCHITECTURES = ("amd64", "arm64")

# Hooks of the machine's apt would run programs and remove files outside of our folders.
APT_CONFIGURATION = """\
#clear APT::Update::Pre-Invoke;
#clear APT::Update::Post-Invoke;
#clear APT::Update::Post-Invoke-Success;
#clear APT::Architectures;
APT::Architecture "amd64";
APT::Architectures {{ "amd64"; "arm64"; }};
APT::Sandbox::User "root";
APT::Update::Error-Mode "any";
Acquire::Languages "none";
Debug::NoLocking "true";
Dir::Cache "{folder}/cache";
Dir::Cache::pkgcache "";
Dir::Cache::srcpkgcache "";
Dir::Etc::sourcelist "/dev/null";
Dir::Etc::sourceparts "{folder}/sources";
Dir::Etc::preferences "/dev/null";
Dir::Etc::preferencesparts "/dev/null";
Dir::State::lists "{folder}/lists";
Dir::State::status "{folder}/status";
"""


class Unavailable(Exception):
    """This machine has no source of Debian packages: what needs them is to be skipped."""


class FetchError(Exception):
    """apt did not give what it should have."""


@contextlib.contextmanager
def locked():
    """Makes other processes wait that fetch into the same cache."""
    CACHE.mkdir(parents=True, exist_ok=True)
    with open(CACHE / "lock", "w", encoding="utf-8") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


def machine_release(description="/etc/os-release"):
    """Code name of this machine's Debian release."""
    lines = Path(description).read_text(encoding="utf-8").replace('"', "").splitlines()
    fields = dict(line.split("=", 1) for line in lines if "=" in line)
    if fields.get("ID") != "debian" or "VERSION_CODENAME" not in fields:
        raise Unavailable(f"this is {fields.get('PRETTY_NAME', 'not Debian')}, whose apt has no Debian packages")
    return fields["VERSION_CODENAME"]


def stanzas(text):
    """Fields of each stanza of a deb822 file; continued lines keep their form."""
    text = re.sub(r"^#.*\n?", "", text, flags=re.MULTILINE)
    for stanza in re.split(r"\n\s*\n", text):
        fields = re.findall(r"^(\S+?):[ \t]*(.*(?:\n[ \t].*)*)", stanza, flags=re.MULTILINE)
        if fields:
            yield {name.lower(): value for name, value in fields}


def one_line_sources(text):
    """The same fields from lines like `deb [signed-by=FILE] URI SUITE COMPONENT...`."""
    for options, uri, suite, components in re.findall(
        r"^deb\s+(?:\[([^]]*)\]\s+)?(\S+)\s+(\S+)\s+(.*)", text, flags=re.MULTILINE
    ):
        fields = {"types": "deb", "uris": uri, "suites": suite, "components": components}
        signed = re.search(r"signed-by=(\S+)", options)
        yield fields | ({"signed-by": signed[1]} if signed else {})


def origins(folder="/etc/apt", release=None):
    """(URI, Signed-By or nothing) of all that may be Debian's archive, by the machine's sources."""
    release = release or machine_release()
    found = []
    for path in [f"{folder}/sources.list", *sorted(glob.glob(f"{folder}/sources.list.d/*"))]:
        if not path.endswith((".list", ".sources")) or not os.path.exists(path):
            continue
        text = Path(path).read_text(encoding="utf-8")
        for source in (stanzas if path.endswith(".sources") else one_line_sources)(text):
            is_debian = release in source.get("suites", "").split() and "main" in source.get("components", "").split()
            if is_debian and "deb" in source.get("types", "").split() and source.get("enabled", "yes") != "no":
                found += [(uri, source.get("signed-by")) for uri in source.get("uris", "").split()]
    if not found:
        raise Unavailable(f"the sources in {folder} have no component main of Debian {release}")
    return found


@contextlib.contextmanager
def appearing(folder):
    """A temporary folder that becomes `folder` at the end, so that it is there whole or not at all."""
    folder.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=CACHE) as temporary:
        whole = Path(temporary) / "whole"
        whole.mkdir()
        yield whole
        shutil.rmtree(folder, ignore_errors=True)
        whole.rename(folder)


class Suite:
    """A suite of the archive, such as `trixie-backports`, for both architectures.

    With `base`, what the suite itself does not have of a package's dependencies comes from that one.
    """

    def __init__(self, name, base=None):
        self.name = name
        self.base = base
        self.folder = CACHE / "apt" / (f"{name}+{base}" if base else name)

    def _apt(self, program, *arguments, folder=None, cwd=None):
        folder = folder or self.folder
        configuration = folder / "apt.conf"
        text = APT_CONFIGURATION.format(folder=folder)
        # Its paths are absolute, and the cache may have been moved with its project.
        if not configuration.exists() or configuration.read_text(encoding="utf-8") != text:
            configuration.write_text(text, encoding="utf-8")
        command = [program, "-q", "-c", configuration, *arguments]
        finished = subprocess.run(command, cwd=cwd, capture_output=True, text=True, check=False)
        if finished.returncode != 0:
            raise FetchError(f"{program} {arguments[0]} of {self.name} failed:\n{finished.stderr}")
        return finished.stdout

    def update(self):
        """Fetches the index from the first origin that has this suite; until then the old one stays."""
        errors = []
        for uri, signed_by in origins():
            print(f"kernels: fetching the index of {self.name}", file=sys.stderr, flush=True)
            try:
                with appearing(self.folder) as folder:
                    self._prepare(folder, uri, signed_by)
                    self._apt("apt-get", "update", folder=folder)
                return
            except FetchError as error:
                errors.append(str(error))
        raise FetchError("\n".join(errors))

    def forget(self):
        """Has the index fetched when it is needed next."""
        shutil.rmtree(self.folder, ignore_errors=True)

    def _prepare(self, folder, uri, signed_by):
        """Writes what apt needs to fetch the index."""
        for name in ("lists/partial", "cache/archives/partial", "sources"):
            (folder / name).mkdir(parents=True)
        (folder / "status").touch()
        suites = f"{self.name} {self.base}" if self.base else self.name
        source = f"Types: deb\nURIs: {uri}\nSuites: {suites}\nComponents: main\n"
        source += f"Architectures: {' '.join(ARCHITECTURES)}\nTargets: Packages\n"
        source += f"Signed-By: {signed_by}\n" if signed_by else ""
        (folder / "sources/debian.sources").write_text(source, encoding="utf-8")

    def _need_index(self):
        if not self.folder.exists():
            self.update()

    def names(self, pattern):
        """Names of the packages that an extended regular expression matches."""
        self._need_index()
        lines = self._apt("apt-cache", "search", "--names-only", pattern).splitlines()
        return sorted({line.split(" ")[0] for line in lines})

    def unpack(self, architecture, package, folder, with_dependencies=False):
        """Unpacks a package below `folder`, which must be there."""
        self._need_index()
        wanted = [f"{package}:{architecture}"]
        if with_dependencies:
            plan = self._apt("apt-get", "-s", "-t", self.name, "install", "--no-install-recommends", *wanted)
            planned = re.findall(r"^Inst ([^:\s]+).*\[(\w+)\]", plan, flags=re.MULTILINE)
            wanted = [name if of == "all" else f"{name}:{of}" for name, of in planned]
        with tempfile.TemporaryDirectory(dir=CACHE) as downloads:
            self._apt("apt-get", "-t", self.name, "download", *wanted, cwd=downloads)
            for file in sorted(Path(downloads).glob("*.deb")):
                subprocess.run(["dpkg-deb", "-x", file, folder], check=True)


def unpacked(architecture, package, backported=False):
    """Root folder of a package with all that it depends on, from this machine's own release.

    The own release, so that its C library is as old as the one that our programs are linked with.
    With `backported` the package itself is the newer one that Debian offers for that release.
    """
    release = machine_release()
    suite = Suite(f"{release}-backports", base=release) if backported else Suite(release)
    folder = CACHE / "packages" / f"{suite.name}-{architecture}" / package
    with locked():
        if not folder.exists():
            with appearing(folder) as root:
                suite.unpack(architecture, package, root, with_dependencies=True)
    return folder


def program(root, name):
    """A program below the root folder of unpacked packages."""
    for folder in ("bin", "usr/bin", "sbin", "usr/sbin"):
        if (root / folder / name).is_file():
            return root / folder / name
    raise FetchError(f"there is no program {name} in {root}")
