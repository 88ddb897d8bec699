"""The program `sane`, which the extension module contains: `sane train …`, or `python -m sane_rl train …`."""

import os
import shutil
import sys

from sane_rl import _native


def main() -> None:
    """Runs the command line of this process and exits with the program's exit code."""
    sys.exit(_native.run_program(_program(), ["sane", *sys.argv[1:]]))


def _program() -> str:
    """The script `sane` of this interpreter, with which a suite starts its runs."""
    started = os.path.abspath(sys.argv[0])
    if os.path.basename(started) == "sane" and os.access(started, os.X_OK):
        return started
    beside = os.path.join(os.path.dirname(sys.executable), "sane")
    return beside if os.access(beside, os.X_OK) else shutil.which("sane") or beside


if __name__ == "__main__":
    main()
