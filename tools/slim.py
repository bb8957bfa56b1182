# SPDX-License-Identifier: Apache-2.0
"""Takes out of the running Python environment what its libraries bring and the product never loads.

    python tools/slim.py

It is for the image, of which these parts would be a third: ansible-test, the second client of the Kubernetes library,
the classes of the first for all kinds but the Lease (the product reads and writes every other object as plain data),
and the tests of libraries.
"""

from __future__ import annotations

import importlib
import importlib.metadata
import importlib.util
import pathlib
import shutil
import sys
import sysconfig

_PACKAGES = ("ansible_test", "kubernetes/aio")
#: The one class of an API that the product uses, for the election; it imports the classes of its objects itself.
_USED = "kubernetes.client.api.coordination_v1_api"
_GENERATED = ("kubernetes/client/api", "kubernetes/client/models")


def unused_modules(site: pathlib.Path) -> list[pathlib.Path]:
    """The files of the generated client that are not loaded with what the product uses."""
    importlib.import_module(_USED)
    loaded = {getattr(module, "__file__", None) for module in sys.modules.values()}
    files = [path for folder in _GENERATED for path in (site / folder).glob("*.py")]
    return [path for path in files if str(path) not in loaded]


def tests_of_libraries(site: pathlib.Path) -> list[pathlib.Path]:
    """The folders of tests inside of packages, as the records of the distributions have them.

    Ansible's own are plug-ins and templates of that name, and are left alone.
    """
    found = {
        site / pathlib.Path(*file.parts[: file.parts.index("tests") + 1])
        for distribution in importlib.metadata.distributions(path=[str(site)])
        if distribution.name != "ansible-core"
        for file in distribution.files or ()
        if "tests" in file.parts[:-1]
    }
    return sorted(found)


def main() -> int:
    """Remove all of it; returns the exit code."""
    site = pathlib.Path(sysconfig.get_path("purelib"))
    for module in unused_modules(site):
        pathlib.Path(importlib.util.cache_from_source(str(module))).unlink(missing_ok=True)
        module.unlink()
    for folder in (*(site / name for name in _PACKAGES), *tests_of_libraries(site)):
        shutil.rmtree(folder, ignore_errors=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
