# SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only
"""The kernels that tests run on.

A test module says which of its classes need a kernel; each becomes a class a kernel, with
`self.kernel` set:

    def load_tests(loader, tests, pattern):
        return matrix.on_kernels(loader, Boots)

One kernel of each architecture by default. If RINGFENCE_KERNELS is `spread`, the oldest and the
newest whose sched_ext can be used as well; every one if it is `all`; or those that it names, such as
`7.0 6.18.15`. RINGFENCE_ARCHITECTURES names the architectures, if not all of them: the tests of each
can run beside those of others.
"""

import os
import unittest

import images
from debian import ARCHITECTURES, FetchError, Unavailable


NOT_BY_DEFAULT = "only `make test-kernels` runs them on this architecture"
# Fewer are no matrix.
LEAST_VERSIONS = 3


def usable(architecture):
    """The newest kernel of every series whose sched_ext can be used."""
    found = [kernel for kernel in images.matrix(architecture) if not kernel.why_unusable]
    if len(found) < LEAST_VERSIONS:
        raise FetchError(f"{len(found)} kernels for {architecture} have a usable sched_ext, expected {LEAST_VERSIONS}")
    return found


def spread(architecture):
    """The newest of them, the oldest and the one that is taken by default."""
    newest, *_, oldest = usable(architecture)
    return list(dict.fromkeys([newest, images.preferred(architecture), oldest]))


SEVERAL = {"spread": spread, "all": usable}


def wanted_architectures():
    return os.environ.get("RINGFENCE_ARCHITECTURES", " ".join(ARCHITECTURES)).split()


def is_chosen(kernel, by_default):
    """Whether what takes long is to run on this kernel: on its architecture by default, or as somebody asks for kernels."""
    return kernel.architecture in by_default or bool(os.environ.get("RINGFENCE_KERNELS"))


def kernels(by_default):
    wanted = os.environ.get("RINGFENCE_KERNELS", "")
    architectures = wanted_architectures()
    if wanted in SEVERAL:
        return [kernel for architecture in architectures for kernel in SEVERAL[wanted](architecture)]
    if wanted:
        return [images.find(architecture, version) for architecture in architectures for version in wanted.split()]
    return [images.preferred(architecture) for architecture in architectures if architecture in by_default]


def older(by_default):
    """The oldest that Debian still has, whatever RINGFENCE_KERNELS says."""
    return [images.oldest(architecture) for architecture in wanted_architectures() if architecture in by_default]


def on_kernels(loader, *cases, by_default=ARCHITECTURES, which=kernels):
    """The tests of the classes, on every kernel; one that is skipped where there are no kernels.

    `by_default` are the architectures unless RINGFENCE_KERNELS asks for some kernels.
    """
    suite = unittest.TestSuite()
    try:
        found = which(by_default)
        why_none = NOT_BY_DEFAULT
    except Unavailable as error:
        found = []
        why_none = f"kernel tests are skipped: {error}"
    if not found:
        skipped = unittest.skip(why_none)(type("Kernels", (unittest.TestCase,), {"test_kernels": lambda self: None}))
        suite.addTests(loader.loadTestsFromTestCase(skipped))
    for kernel in found:
        for case in cases:
            # A guest may come once only to an oops: it is told whole.
            own = {"kernel": kernel, "maxDiff": None, "__module__": case.__module__}
            of_kernel = type(f"{case.__name__} on {kernel}", (case,), own)
            suite.addTests(loader.loadTestsFromTestCase(of_kernel))
    return suite
