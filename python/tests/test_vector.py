"""The vector beyond what ale-py has: several games, modes, RAM, states, batches, and errors that change nothing."""

import multiprocessing
import pickle
import threading

import numpy as np
import pytest

import sane_rl


def play(envs, steps, seed=1):
    rng = np.random.default_rng(seed)
    return [envs.step(rng.integers(envs.single_action_space.n, size=envs.num_envs)) for _ in range(steps)]


@pytest.fixture
def boxing(roms):
    envs = sane_rl.AtariVectorEnv("boxing", 3)
    envs.reset(seed=2)
    return envs


def test_results_do_not_depend_on_the_number_of_threads(roms):
    batches = []
    for threads in (1, 2, 3):
        envs = sane_rl.AtariVectorEnv("qbert", 3, num_threads=threads, repeat_action_probability=0.25)
        envs.reset(seed=4)
        batches.append(play(envs, 30))
    for other in batches[1:]:
        for one, two in zip(batches[0], other, strict=True):
            assert all(np.array_equal(a, b) for a, b in zip(one[:4], two[:4], strict=True))


def test_every_environment_has_its_own_game_mode_and_difficulty(roms):
    envs = sane_rl.AtariVectorEnv(
        ["boxing", "freeway", "freeway"],
        3,
        full_action_space=True,
        mode=[None, 0, 3],
        difficulty=[0, 0, 1],
        noop_max=0,
        use_fire_reset=False,
    )
    observations, _ = envs.reset(seed=1)
    assert not np.array_equal(observations[0], observations[1])
    ram = envs.get_ram()
    assert ram.shape == (3, 128) and not np.array_equal(ram[1], ram[2])
    assert len(envs.render()) == 3 and envs.get_action_meanings(1)[0] == "NOOP"


def test_a_state_continues_exactly_and_survives_pickling(boxing):
    play(boxing, 10)
    state = pickle.loads(pickle.dumps(boxing.clone_state(1)))
    before = boxing._vector.observation(1)
    first = play(boxing, 10, seed=5)
    assert np.array_equal(boxing.restore_state(1, state), before)
    again = play(boxing, 10, seed=5)
    for one, two in zip(first, again, strict=True):
        assert np.array_equal(one[0][1], two[0][1]) and one[1][1] == two[1][1]


def test_batches_step_every_environment_as_often_as_it_was_sent(roms):
    envs = sane_rl.AtariVectorEnv("boxing", 4, batch_size=2, num_threads=2, noop_max=0, use_fire_reset=False)
    observations, info = envs.reset(seed=1)
    assert observations.shape == (2, 4, 84, 84)
    steps = np.zeros(4, int)
    for _ in range(20):
        envs.send(np.zeros(2, int))
        steps[info["env_id"]] += 1
        _, rewards, _, _, info = envs.recv()
        assert rewards.shape == (2,)
        assert np.array_equal(info["episode_frame_number"], 4 * steps[info["env_id"]])
    assert envs.reset(seed=1)[0].shape == (2, 4, 84, 84)


def test_a_whole_vector_can_be_sent_and_received(boxing):
    boxing.send(np.zeros(3, int))
    with pytest.raises(ValueError, match="is being stepped"):
        boxing.step(np.zeros(3, int))
    assert boxing.recv()[0].shape == (3, 4, 84, 84)
    assert boxing.step(np.zeros(3, int))[0].shape == (3, 4, 84, 84)


def test_without_autoreset_an_ended_environment_waits_for_its_reset(roms):
    envs = sane_rl.AtariVectorEnv("boxing", 2, autoreset_mode="Disabled", max_num_frames_per_episode=8, noop_max=0)
    envs.reset(seed=1)
    while not envs.step([0, 0])[3].all():
        pass
    with pytest.raises(ValueError, match="has ended"):
        envs.step([0, 0])
    envs.reset(options={"reset_mask": np.array([True, True])})
    envs.step([0, 0])


@pytest.mark.parametrize(
    "actions, message",
    [
        (np.zeros(2, int), r"shape \(2,\); expected \(3,\)"),
        (np.array([0, 18, 0]), "action 18 of environment 1; boxing has the actions 0 to 17"),
        (np.array([-1, 0, 0]), "action -1"),
        (np.zeros(3), "float64; expected integers"),
        (np.zeros((3, 1), int), r"shape \(3, 1\)"),
    ],
)
def test_wrong_actions_are_refused_and_change_nothing(boxing, actions, message):
    before = boxing.get_ram()
    with pytest.raises(ValueError, match=message):
        boxing.step(actions)
    assert np.array_equal(boxing.get_ram(), before)
    boxing.step(np.zeros(3, int))


@pytest.mark.parametrize(
    "kwargs, message",
    [
        ({"num_envs": 0}, "num_envs is 0"),
        ({"frameskip": 0}, "frameskip is 0"),
        ({"stack_num": 1.5}, "stack_num is 1.5"),
        ({"img_height": 300}, "at most the 210×160 pixels of boxing"),
        ({"batch_size": 5}, "batch_size is 5; expected at most the 2"),
        ({"mode": 77}, "boxing has no mode 77; it has 0"),
        ({"difficulty": [0, 9]}, "boxing has no difficulty 9"),
        ({"mode": [0]}, "1 values of mode for 2 environments"),
        ({"repeat_action_probability": 1.5}, "1.5; expected a probability"),
        ({"game": ["boxing", "breakout"]}, "boxing has 18 actions and breakout has 4"),
        ({"autoreset_mode": "never"}, "never"),
    ],
)
def test_wrong_settings_are_refused_with_both_values(roms, kwargs, message):
    with pytest.raises(ValueError, match=message):
        sane_rl.AtariVectorEnv(**{"game": "boxing", "num_envs": 2, **kwargs})


def test_wrong_resets_are_refused(boxing):
    for kwargs, message in [
        ({"options": {"reset_mask": np.array([True])}}, r"shape \(1,\)"),
        ({"options": {"reset_mask": np.zeros(3, bool)}}, "selects no environment"),
        ({"seed": [1, 2]}, "2 seeds for 3"),
        ({"seed": 2**32}, "not between"),
    ]:
        with pytest.raises(ValueError, match=message):
            boxing.reset(**kwargs)
    fresh = sane_rl.AtariVectorEnv("boxing", 2)
    with pytest.raises(ValueError, match="has not been reset"):
        fresh.step([0, 0])


def test_a_state_of_another_game_is_refused(boxing):
    other = sane_rl.AtariVectorEnv("breakout", 1)
    other.reset(seed=1)
    with pytest.raises(ValueError, match="the state is of breakout, environment 0 plays boxing"):
        boxing.restore_state(0, other.clone_state(0))
    boxing.step(np.zeros(3, int))


def _step_in_a_child(envs, queue):
    try:
        envs.step(np.zeros(3, int))
        queue.put("stepped")
    except RuntimeError as error:
        queue.put(str(error))


@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_a_forked_process_is_told_to_make_its_own_vector(roms):
    context = multiprocessing.get_context("fork")
    envs = sane_rl.AtariVectorEnv("boxing", 3, num_threads=2)
    envs.reset(seed=1)
    queue = context.Queue()
    child = context.Process(target=_step_in_a_child, args=(envs, queue))
    child.start()
    assert "make the vector after the fork" in queue.get(timeout=60)
    child.join()
    envs.step(np.zeros(3, int))


def test_two_threads_at_once_are_safe_or_refused(boxing):
    outcomes = []

    def work():
        for _ in range(50):
            try:
                boxing.step(np.zeros(3, int))
                outcomes.append("stepped")
            except RuntimeError as error:
                outcomes.append(str(error))

    threads = [threading.Thread(target=work) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    refusal = (
        "another thread is in this vector, so step was not begun; "
        "use a vector from one thread at a time, or make one for each"
    )
    assert "stepped" in outcomes and set(outcomes) <= {"stepped", refusal}


def test_a_restored_environment_ends_its_episode_with_the_screens_of_its_own_past(roms):
    # An episode that ends with a step shows the screens of the step before, which are part of the state.
    def made(seed):
        envs = sane_rl.AtariVectorEnv("boxing", 1, max_num_frames_per_episode=60, num_threads=1)
        envs.reset(seed=seed)
        return envs

    original, other = made(1), made(2)
    for action in [1, 2, 3, 4, 5, 1, 2, 3, 4, 5, 6, 7, 8, 9]:
        original.step([action])
        other.step([17 - action])
    other.restore_state(0, original.clone_state(0))
    ends = [envs.step([3]) for envs in (original, other)]
    assert all(truncated.all() for _, _, _, truncated, _ in ends)
    assert (ends[0][0] == ends[1][0]).all()
