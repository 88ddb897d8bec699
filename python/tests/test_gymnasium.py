"""The environments as Gymnasium knows them."""

import importlib.util
import pickle
import sys

import gymnasium
import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env

import sane_rl
from sane_rl.games import game_table
from sane_rl.registration import game_id

SMALL_WORLDS = [
    ("SANE/MinAtar-Asterix-v1", {}),
    ("SANE/MinAtar-Breakout-v1", {}),
    ("SANE/MinAtar-Freeway-v1", {}),
    ("SANE/MinAtar-Seaquest-v1", {}),
    ("SANE/MinAtar-SpaceInvaders-v1", {}),
    ("SANE/DeepSea-v0", {"size": 7}),
    ("SANE/RiskyRoad-v0", {}),
]
ATARI = [
    ("SANE/Boxing-v5", {}),
    ("SANE/Breakout-v5", {"obs_type": "ram"}),
    ("SANE/Qbert-v5", {"obs_type": "grayscale", "frameskip": (2, 5)}),
    ("SANE/Skiing-v5", {"full_action_space": True}),
    ("SANE/Adventure-v5", {"mode": 1, "difficulty": 1}),
    ("SANE/VideoCube-v5", {"repeat_action_probability": 0.0}),
]


@pytest.mark.parametrize("id, kwargs", SMALL_WORLDS)
@pytest.mark.filterwarnings("ignore:.*Box observation space maximum and minimum.*")
def test_a_small_world_passes_gymnasiums_checker(id, kwargs):
    check_env(gymnasium.make(id, render_mode="rgb_array", **kwargs).unwrapped)


@pytest.mark.parametrize("id, kwargs", ATARI)
def test_a_game_passes_gymnasiums_checker(roms, monkeypatch, id, kwargs):
    # The checker also opens a window, for which SDL has a driver without a screen.
    monkeypatch.setenv("SDL_VIDEODRIVER", "dummy")
    has_window = importlib.util.find_spec("pygame") is not None
    check_env(gymnasium.make(id, render_mode="rgb_array", **kwargs).unwrapped, skip_render_check=not has_window)


def test_all_104_games_are_registered_and_run(roms):
    assert len(game_table()) == 104
    for game in game_table():
        env = gymnasium.make(f"SANE/{game_id(game)}-v5", obs_type="ram", disable_env_checker=True)
        env.reset(seed=1)
        observation, *_, info = env.step(env.action_space.n - 1)
        assert observation.shape == (128,) and set(info) == {"lives", "episode_frame_number", "frame_number"}, game


def test_ids_of_ale_py_are_answered_on_request_alone(roms):
    sane_rl.register(take_over_ale=True)
    assert gymnasium.make("ALE/Boxing-v5").unwrapped.__class__ is sane_rl.AtariEnv
    plain = gymnasium.make("BoxingNoFrameskip-v4")
    plain.reset(seed=1)
    assert plain.step(0)[4]["frame_number"] == 1
    frames = gymnasium.make("Boxing-v4")
    frames.reset(seed=1)
    assert frames.step(0)[4]["frame_number"] in (2, 3, 4)


def test_a_clone_is_exact_picklable_and_of_use_in_another_environment(roms):
    for game in ("Boxing", "Pitfall2", "Seaquest"):
        env = gymnasium.make(f"SANE/{game}-v5").unwrapped
        env.reset(seed=3)
        actions = np.random.default_rng(1).integers(env.action_space.n, size=60)
        for action in actions[:20]:
            env.step(action)
        state = pickle.loads(pickle.dumps(env.clone_state(include_rng=True)))
        assert state == env.clone_state(include_rng=True)
        first = [env.step(action)[:2] for action in actions[20:]]
        other = gymnasium.make(f"SANE/{game}-v5").unwrapped
        other.reset(seed=9)
        for restored in (env, other):
            restored.restore_state(state)
            for action, (observation, reward) in zip(actions[20:], first, strict=True):
                again, reward_again, *_ = restored.step(action)
                assert reward == reward_again and np.array_equal(observation, again), game


def test_a_small_world_continues_exactly_from_its_state():
    env = gymnasium.make("SANE/MinAtar-Freeway-v1").unwrapped
    env.reset(seed=5)
    for action in (1, 2, 0, 2, 1):
        env.step(action)
    state = env.clone_state()
    first = [env.step(action)[0] for action in (0, 1, 2, 1)]
    env.reset(seed=6)
    env.restore_state(state)
    assert all(np.array_equal(frame, env.step(action)[0]) for action, frame in zip((0, 1, 2, 1), first, strict=True))


def test_the_risky_road_tells_its_true_risk():
    env = gymnasium.make("SANE/RiskyRoad-v0")
    _, info = env.reset(seed=1)
    risks = {info["true_risk"]}
    for action in np.random.default_rng(1).integers(env.action_space.n, size=100):
        *_, terminated, truncated, info = env.step(action)
        if terminated or truncated:
            _, info = env.reset()
        risks.add(info["true_risk"])
    assert all(0.0 <= risk <= 1.0 for risk in risks) and 1 < len(risks)


def test_a_vector_of_gymnasium_is_the_native_one(roms):
    envs = gymnasium.make_vec("SANE/Boxing-v5", num_envs=3)
    assert isinstance(envs.unwrapped, sane_rl.AtariVectorEnv)
    observations, _ = envs.reset(seed=1)
    assert observations.shape == (3, 4, 84, 84) and envs.observation_space.contains(observations)


def test_keys_and_meanings_name_every_action(roms):
    env = gymnasium.make("SANE/Boxing-v5").unwrapped
    keys = env.get_keys_to_action()
    assert keys[("w", "d", " ")] == env.get_action_meanings().index("UPRIGHTFIRE") and len(keys) == 18


def test_the_window_needs_pygame_and_says_so(roms, monkeypatch):
    monkeypatch.setitem(sys.modules, "pygame", None)
    with pytest.raises(gymnasium.error.DependencyNotInstalled, match="pip install pygame"):
        gymnasium.make("SANE/Boxing-v5", render_mode="human")


def test_the_window_shows_the_screen(roms, monkeypatch):
    pygame = pytest.importorskip("pygame", reason="left out: pygame is not installed")
    monkeypatch.setenv("SDL_VIDEODRIVER", "dummy")
    env = gymnasium.make("SANE/Boxing-v5", render_mode="human")
    env.reset(seed=1)
    observation, *_ = env.step(1)
    shown = pygame.surfarray.array3d(pygame.display.get_surface()).swapaxes(0, 1)
    assert shown.shape == (630, 640, 3) and np.array_equal(shown[1::3, 1::4], observation)
    env.close()
    assert pygame.display.get_surface() is None


def test_a_screen_that_is_asked_for_late_is_the_same_and_so_is_the_state(roms):
    watching, looking_late = sane_rl.ALEInterface(), sane_rl.ALEInterface()
    for ale in (watching, looking_late):
        ale.setInt("random_seed", 1)
        ale.loadROM("seaquest")
    for i, action in enumerate(np.random.default_rng(1).integers(18, size=300)):
        assert watching.act(action) == looking_late.act(action)
        screen = watching.getScreenRGB()
        if i % 29 == 0:
            before = looking_late.cloneSystemState()
            assert before == watching.cloneSystemState()
            assert np.array_equal(looking_late.getScreenRGB(), screen)
            assert before == looking_late.cloneSystemState()
