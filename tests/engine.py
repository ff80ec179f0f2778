"""The engine of the tests: the build of the Rust tests, with its checks, instead of the engine that users run.

The package is laid out beside the build, as links to its files and to the extension of this build. It is first on the
path, also for processes that tests start. The folder is always the same, so byte code is reused. An installed package
is not changed.
"""

import json
import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent

# With a test in the build, dependencies have the features of all tests, so they are compiled only once.
PACKAGES = "-p phit-python -p phit-c -p phit-tests"
BUILD = f"cargo build {PACKAGES} --lib --test smoke --quiet --message-format=json-render-diagnostics"


def extension() -> Path:
    """Builds the extension; parts that are unchanged since the Rust tests are not compiled again."""
    built = subprocess.run(BUILD.split(), cwd=ROOT, stdout=subprocess.PIPE, text=True, check=True)
    messages = [json.loads(line) for line in built.stdout.splitlines()]
    (library,) = (m["filenames"][0] for m in messages if m.get("target", {}).get("name") == "_phit")
    return Path(library)


def use() -> None:
    """Puts the package with the extension of this build first on the path, until this process ends."""
    library = extension()
    folder = library.parent / "python"
    package = folder / "phit"
    package.mkdir(parents=True, exist_ok=True)
    entries = {entry.name: entry for entry in (ROOT / "python" / "phit").iterdir() if entry.suffix != ".so"}
    entries["_phit.pyd" if sys.platform == "win32" else "_phit.abi3.so"] = library
    for link in package.iterdir():
        if link.is_symlink() and link.name not in entries:
            link.unlink()
    for name, entry in entries.items():
        link = package / name
        if name != "__pycache__" and (not link.is_symlink() or link.readlink() != entry):
            link.unlink(missing_ok=True)
            link.symlink_to(entry)
    sys.path.insert(0, str(folder))
    os.environ["PYTHONPATH"] = os.pathsep.join(filter(None, [str(folder), os.environ.get("PYTHONPATH")]))
