"""Exported runs, read back by the packages they are made for. A package that is not installed leaves its test out: the gate
installs pandas, pyarrow and mlflow-skinny; wandb and tensorboard are large and tested where they are installed already."""

import json
import math
import os
import subprocess
import sys

import pytest

PROGRAM = [os.environ["SANE"]] if "SANE" in os.environ else [sys.executable, "-m", "sane_rl"]


@pytest.fixture(scope="session")
def exported(small_run, tmp_path_factory):
    folder = tmp_path_factory.mktemp("exported")
    formats = ["csv", "parquet", "mlflow", "wandb-offline"]
    options = [word for name in formats for word in (f"--{name}", str(folder / name))]
    subprocess.run([*PROGRAM, "--quiet", "runs", "export", str(small_run), *options], check=True, stdout=subprocess.DEVNULL)
    return folder


@pytest.fixture(scope="session")
def events(small_run):
    return [json.loads(line) for line in (small_run / "events.jsonl").read_text().splitlines()]


def of_kind(events, kind):
    return [event for event in events if event["event"] == kind]


def test_csv_and_parquet_are_the_same_tables(exported, events):
    pandas = pytest.importorskip("pandas")
    pytest.importorskip("pyarrow", reason="left out: pyarrow is not installed")
    for table, kind in [("episodes", "episode_finished"), ("intervals", "interval_finished")]:
        csv = pandas.read_csv(exported / "csv" / f"{table}.csv")
        parquet = pandas.read_parquet(exported / "parquet" / f"{table}.parquet")
        rows = of_kind(events, kind)
        assert list(csv.columns) == list(parquet.columns)
        assert len(csv) == len(parquet) == len(rows)
        for column in csv.columns:
            for ours, theirs in zip(csv[column], parquet[column]):
                assert ours == theirs or (pandas.isna(ours) and pandas.isna(theirs)), column
        assert list(csv["interactions"]) == [row["interactions"] for row in rows]
        assert parquet["interactions"].dtype == "int64"
    intervals = pandas.read_parquet(exported / "parquet" / "intervals.parquet")
    episodes = pandas.read_parquet(exported / "parquet" / "episodes.parquet")
    assert list(episodes["return_raw"]) == [row["return_raw"] for row in of_kind(events, "episode_finished")]
    assert list(intervals["sigma.mean_abs"]) == [row["sigma"]["mean_abs"] for row in of_kind(events, "interval_finished")]
    runs = pandas.read_parquet(exported / "parquet" / "runs.parquet")
    assert (runs["world"][0], runs["seed"][0], bool(runs["finished"][0])) == ("risky-road", 1, True)
    assert runs["training.learning_starts"][0] == 500


def test_mlflow_reads_its_file_store(exported, events, monkeypatch):
    mlflow = pytest.importorskip("mlflow", reason="left out: mlflow-skinny is not installed")
    # MLflow 3 keeps reading file stores, and wants to be told so.
    monkeypatch.setenv("MLFLOW_ALLOW_FILE_STORE", "true")
    client = mlflow.tracking.MlflowClient(tracking_uri=(exported / "mlflow").as_uri())
    experiment = client.get_experiment_by_name("sane risky-road")
    (run,) = client.search_runs([experiment.experiment_id])
    assert run.info.status == "FINISHED" and run.info.run_name == "risky-road sane seed 1"
    assert run.data.params["training.learning_starts"] == "500"
    assert run.data.tags["sane.preset"] == "risky-road"
    history = client.get_metric_history(run.info.run_id, "episode/return_raw")
    episodes = of_kind(events, "episode_finished")
    assert [(point.step, point.value) for point in history] == [(row["interactions"], row["return_raw"]) for row in episodes]
    assert all(earlier.timestamp <= later.timestamp for earlier, later in zip(history, history[1:]))


def test_wandb_reads_its_offline_log(exported, events):
    # Later versions read the log in a program of their own, which asks for a server.
    reason = "left out: no wandb with a reader in Python (0.19 has one) is installed"
    DataStore = pytest.importorskip("wandb.sdk.internal.datastore", reason=reason).DataStore
    from wandb.proto import wandb_internal_pb2

    (path,) = (exported / "wandb-offline").glob("offline-run-*/run-*.wandb")
    store = DataStore()
    store.open_for_scan(str(path))
    records = []
    while (data := store.scan_data()) is not None:
        record = wandb_internal_pb2.Record()
        record.ParseFromString(data)
        records.append(record)
    kinds = [record.WhichOneof("record_type") for record in records]
    assert (kinds[0], kinds[1], kinds[-2:]) == ("header", "run", ["exit", "footer"])
    run = records[1].run
    assert (run.project, run.display_name) == ("sane", "risky-road sane seed 1")
    config = {item.key: json.loads(item.value_json) for item in run.config.update}
    assert config["training.learning_starts"] == 500 and config["agent"] == "sane"
    history = [
        {item.key: json.loads(item.value_json) for item in record.history.item}
        for record in records
        if record.WhichOneof("record_type") == "history"
    ]
    returns = {row["_step"]: row["episode/return_raw"] for row in history if "episode/return_raw" in row}
    assert returns == {row["interactions"]: row["return_raw"] for row in of_kind(events, "episode_finished")}
    steps = [row["_step"] for row in history]
    assert steps == sorted(set(steps)) and all(math.isfinite(row["_timestamp"]) for row in history)
    assert records[kinds.index("exit")].exit.exit_code == 0


def test_tensorboard_shows_the_settings_as_hyperparameters(small_run):
    pytest.importorskip("tensorboard", reason="left out: tensorboard is not installed")
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator
    from tensorboard.plugins.hparams import metadata, plugin_data_pb2

    accumulator = EventAccumulator(str(small_run / "tensorboard"))
    accumulator.Reload()
    contents = accumulator.PluginTagToContent(metadata.PLUGIN_NAME)
    start = metadata.parse_session_start_info_plugin_data(contents[metadata.SESSION_START_INFO_TAG])
    assert isinstance(start, plugin_data_pb2.SessionStartInfo)
    assert start.hparams["training.learning_starts"].number_value == 500
    assert start.hparams["agent"].string_value == "sane"
    assert start.hparams["learner.double_q"].bool_value is False
    end = metadata.parse_session_end_info_plugin_data(contents[metadata.SESSION_END_INFO_TAG])
    assert start.start_time_secs <= end.end_time_secs
