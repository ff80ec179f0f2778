"""Which engine the tests run: the one that the Rust tests run, with its checks, and not the one that users run.

The package is laid out anew in a temporary folder, as links to its files and to the extension of this build, and stands
first on the path, also that of the processes which tests start. What is installed stays as it is.
"""

import atexit
import json
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent

# With a test among what is built, dependencies have the features that they have for all tests: they are compiled once.
BUILD = "cargo build -p phit-python -p phit-tests --lib --test smoke --quiet --message-format=json-render-diagnostics"


def extension() -> Path:
    """Builds the extension; what has not changed since the Rust tests is not compiled again."""
    built = subprocess.run(BUILD.split(), cwd=ROOT, stdout=subprocess.PIPE, text=True, check=True)
    messages = [json.loads(line) for line in built.stdout.splitlines()]
    (library,) = (m["filenames"][0] for m in messages if m.get("target", {}).get("name") == "_phit")
    return Path(library)


def use() -> None:
    """Puts the package with the extension of this build first on the path, until this process ends."""
    library = extension()
    folder = tempfile.mkdtemp(prefix="phit-tests-")
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    package = Path(folder) / "phit"
    package.mkdir()
    for entry in (ROOT / "python" / "phit").iterdir():
        if entry.suffix != ".so" and entry.name != "__pycache__":
            (package / entry.name).symlink_to(entry)
    (package / "_phit.abi3.so").symlink_to(library)
    sys.path.insert(0, folder)
    os.environ["PYTHONPATH"] = os.pathsep.join(filter(None, [folder, os.environ.get("PYTHONPATH")]))
