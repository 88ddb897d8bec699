"""What the tests share. A package that is missing leaves out the tests that need it, with a reason."""

import os

import pytest

import sane_rl


def _rom_is_here() -> bool:
    try:
        sane_rl._native.Ale("boxing", ale_package=sane_rl.games.ale_package_roms())
    except FileNotFoundError:
        return False
    return True


@pytest.fixture(scope="session")
def roms():
    """For tests that play Atari games: offline, they are left out where there is no ROM."""
    if not _rom_is_here() and os.environ.get("SANE_TEST_OFFLINE"):
        pytest.skip("no ROMs, and nothing is fetched with SANE_TEST_OFFLINE")


@pytest.fixture(scope="session")
def ale_py(roms):
    """The published package, as an oracle."""
    package = pytest.importorskip("ale_py")
    package.ALEInterface.setLoggerMode(package.LoggerMode.Error)
    return package


@pytest.fixture(scope="session")
def small_run(tmp_path_factory):
    """A short run that the tests of policies and results read."""
    folder = tmp_path_factory.mktemp("runs") / "risky-road" / "sane" / "seed-1"
    sane_rl.train(
        "risky-road",
        "sane",
        steps=1_500,
        settings={"training.learning_starts": 500, "record.interval": 500},
        out=folder,
        progress=False,
    )
    return folder
