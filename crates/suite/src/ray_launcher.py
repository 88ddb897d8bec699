"""Runs the jobs of a suite as tasks of a Ray cluster. Started by `sane suite run --on ray` with the path of a JSON file:

  {"address": ..., "cpus": n, "memory_bytes": n, "jobs": [{"run": name, "shell": lines}, ...]}

Writes one JSON object per line to standard output: {"run": name, "code": exit code} when a job has ended,
{"run": name, "error": text} when Ray has given it up, {"refused": text} when nothing can be run.
"""
import ctypes
import json
import signal
import subprocess
import sys


def say(**words):
    print(json.dumps(words), flush=True)


def plural(cores):
    return "1 core" if cores == 1 else f"{cores} cores"


def work(shell):
    """The job's process; it is asked to save and stop when the worker that started it is gone or cancelled."""

    def end_with_parent():
        ctypes.CDLL(None).prctl(1, signal.SIGTERM)

    process = subprocess.Popen(["bash", "-c", shell], preexec_fn=end_with_parent, stdin=subprocess.DEVNULL)
    try:
        return process.wait()
    finally:
        if process.poll() is None:
            process.terminate()
            process.wait()


def main():
    with open(sys.argv[1]) as file:
        spec = json.load(file)
    try:
        import ray
    except ImportError:
        say(refused=f"{sys.executable} has no package ray; pip install 'ray[default]', or name another Python in [ray] python")
        return 1
    try:
        ray.init(address=spec["address"] or "auto", log_to_driver=False, logging_level="ERROR")
    except (ConnectionError, ValueError, RuntimeError) as error:
        said = str(error).strip().splitlines()[0]
        say(refused=f"there is no Ray cluster at {spec['address'] or 'this machine'} ({said}); `ray start --head` starts one")
        return 1
    nodes = [node["Resources"] for node in ray.nodes() if node["Alive"]]
    cpus, memory = spec["cpus"], spec["memory_bytes"]
    if not any(cpus <= node.get("CPU", 0) and memory <= node.get("memory", 0) for node in nodes):
        most = max((node.get("memory", 0) for node in nodes), default=0) / 1e9
        cores = int(max((node.get("CPU", 0) for node in nodes), default=0))
        say(refused=f"a run needs {memory / 1e9:.1f} GB and {plural(cpus)}, the largest node has {most:.1f} GB and "
                    f"{plural(cores)}; take a smaller replay.capacity or fewer threads")
        return 1
    # Without end: a run whose node is lost resumes elsewhere from its checkpoint; failures of the run itself end the task.
    task = ray.remote(num_cpus=cpus, memory=memory, max_retries=-1, scheduling_strategy="SPREAD")(work)
    waiting = {task.options(name=job["run"]).remote(job["shell"]): job["run"] for job in spec["jobs"]}
    while waiting:
        done, _ = ray.wait(list(waiting), timeout=5)
        for reference in done:
            run = waiting.pop(reference)
            try:
                say(run=run, code=ray.get(reference))
            except ray.exceptions.RayError as error:
                say(run=run, error=str(error).strip().splitlines()[0])
    return 0


if __name__ == "__main__":
    sys.exit(main())
