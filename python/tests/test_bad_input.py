"""What cannot be is refused with both values, and the environment still works afterwards."""

import gymnasium
import numpy as np
import pytest

import sane_rl


@pytest.mark.parametrize(
    "kwargs, error, message",
    [
        ({"obs_type": "pixels"}, gymnasium.error.Error, "'pixels'; expected one of 'rgb'"),
        ({"frameskip": 0}, gymnasium.error.Error, "frameskip is 0"),
        ({"frameskip": (3, 3)}, gymnasium.error.Error, r"frameskip is \(3, 3\)"),
        ({"repeat_action_probability": -0.1}, gymnasium.error.Error, "-0.1; expected a probability"),
        ({"mode": 99}, ValueError, "boxing has no mode 99; it has 0"),
        ({"difficulty": 7}, ValueError, "boxing has no difficulty 7; it has 0, 1, 2, 3"),
    ],
)
def test_wrong_settings_of_a_game(roms, kwargs, error, message):
    with pytest.raises(error, match=message):
        sane_rl.AtariEnv("boxing", **kwargs)


def test_unknown_games_and_worlds_get_a_suggestion(roms):
    with pytest.raises(gymnasium.error.Error, match="did you mean `boxing`"):
        sane_rl.AtariEnv("boxng")
    with pytest.raises(gymnasium.error.Error, match="did you mean `boxing`"):
        sane_rl.AtariVectorEnv("boxng", 2)
    with pytest.raises(gymnasium.error.Error, match="minatar/breakout"):
        sane_rl.SmallWorldEnv("minatar/brekout")
    with pytest.raises(gymnasium.error.Error, match="from 2 to 100"):
        gymnasium.make("SANE/DeepSea-v0", size=1)
    with pytest.raises(gymnasium.error.Error):
        gymnasium.make("SANE/Boxng-v5")


def test_a_wrong_action_changes_nothing(roms):
    env = sane_rl.AtariEnv("boxing")
    env.reset(seed=1)
    before = env.clone_state(include_rng=True)
    with pytest.raises(ValueError, match="no action 18; boxing has 0 to 17"):
        env.step(18)
    with pytest.raises(ValueError, match="no action -1"):
        env.step(-1)
    with pytest.raises(TypeError, match="an action is an integer, found 1.5"):
        env.step(1.5)
    assert env.clone_state(include_rng=True) == before
    env.step(np.int64(3))
    world = gymnasium.make("SANE/DeepSea-v0", size=4, disable_env_checker=True)
    world.reset(seed=1)
    with pytest.raises(ValueError, match="no action 2; deep-sea/4 has 0 to 1"):
        world.step(2)
    world.step(1)


def test_states_of_another_world_and_damaged_ones_are_refused(roms):
    env, other = sane_rl.AtariEnv("boxing"), sane_rl.AtariEnv("breakout")
    for one in (env, other):
        one.reset(seed=1)
    with pytest.raises(ValueError, match="the state is of breakout, this environment plays boxing"):
        env.restore_state(other.clone_state())
    with pytest.raises(ValueError, match="no state of a game"):
        sane_rl.AtariState.deserialize(b"nonsense")
    world = sane_rl.SmallWorldEnv("minatar/breakout")
    world.reset(seed=1)
    for bad in (b"", b"nonsense", sane_rl.SmallWorldEnv("deep-sea/5").clone_state()):
        with pytest.raises(ValueError, match="state"):
            world.restore_state(bad)
    world.step(0)
    env.step(0)


def test_a_missing_rom_says_where_it_was_searched(tmp_path, monkeypatch):
    import subprocess
    import sys

    script = (
        "import sane_rl._native as n\n"
        "try: n.Ale('boxing', ale_package='/nowhere')\n"
        "except FileNotFoundError as error: print(error)"
    )
    environment = {"HOME": str(tmp_path), "PATH": str(tmp_path), "PYTHONPATH": ":".join(sys.path)}
    found = subprocess.run([sys.executable, "-c", script], env=environment, capture_output=True, text=True)
    assert "no ROM of boxing" in found.stdout and "pip install ale-py" in found.stdout, found


def test_the_interface_refuses_what_it_does_not_have(roms, tmp_path):
    ale = sane_rl.ALEInterface()
    with pytest.raises(RuntimeError, match="call loadROM first"):
        ale.act(0)
    with pytest.raises(FileNotFoundError, match="nowhere.bin"):
        ale.loadROM(tmp_path / "nowhere.bin")
    other = tmp_path / "other.bin"
    other.write_bytes(b"\0" * 2048)
    with pytest.raises(ValueError, match="not the ROM of a supported game"):
        ale.loadROM(other)
    ale.loadROM("boxing")
    for refused, error, message in [
        (lambda: ale.act(18), ValueError, "no action 18"),
        (lambda: ale.setMode(5), ValueError, "no mode 5"),
        (lambda: ale.setDifficulty(8), ValueError, "no difficulty 8"),
        (lambda: ale.setRAM(128, 0), ValueError, "no byte 128"),
        (lambda: ale.setRAM(0, 256), ValueError, "256 is not a byte"),
        (lambda: ale.getInt("frameskip"), KeyError, "frame_skip"),
        (lambda: ale.setFloat("repeat_action_probability", 2), ValueError, "is 2"),
        (lambda: ale.setInt("frame_skip", 0), ValueError, "at least 1"),
        (lambda: ale.getAudio(), NotImplementedError, "no audio"),
        (lambda: ale.setBool("sound", True), NotImplementedError, "sound"),
        (lambda: ale.act(0, 0.5), NotImplementedError, "0.5"),
        (lambda: ale.getScreenRGB(np.zeros((1, 1), np.uint8)), ValueError, r"expected \(210, 160, 3\)"),
    ]:
        with pytest.raises(error, match=message):
            refused()
    buffer = np.empty((210, 160, 3), np.uint8)
    assert ale.getScreenRGB(buffer) is None and np.array_equal(buffer, ale.getScreenRGB())
    assert ale.act(0) == 0
