#!/usr/bin/env python3
"""The live page in a real browser: starts a training and `sane watch`, drives Chromium, checks what it shows.

    tools/watch_browser_test.py                       # uses target/release/sane; screenshots into target/watch-shots
    tools/watch_browser_test.py --sane PATH --shots DIR
    tools/watch_browser_test.py --many DIR            # first paint over a folder of many runs, nothing is trained

Needs Python 3 and Chromium (Debian: apt-get install chromium), nothing else: the browser is spoken to through its
debugging pipe. Exit code 0: everything held.
"""

import argparse
import base64
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time

PATIENCE = 120.0


class Browser:
    """Chromium without a window. Messages are JSON, each ended by a zero byte, on the file descriptors 3 and 4."""

    def __init__(self, width=1280, height=900):
        found = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
        if not found:
            sys.exit("no chromium on this machine; on Debian: apt-get install chromium")
        self.profile = tempfile.mkdtemp(prefix="sane-watch-browser-")
        to_browser_read, self.to_browser = os.pipe()
        self.from_browser, from_browser_write = os.pipe()
        os.set_inheritable(to_browser_read, True)
        os.set_inheritable(from_browser_write, True)
        options = ["--headless=new", "--no-sandbox", "--disable-gpu", "--remote-debugging-pipe", "--no-first-run",
                   "--disable-dev-shm-usage", "--hide-scrollbars", f"--window-size={width},{height}",
                   f"--user-data-dir={self.profile}", "about:blank"]
        line = f'exec "$0" "$@" 3<&{to_browser_read} 4>&{from_browser_write}'
        self.process = subprocess.Popen(["bash", "-c", line, found, *options], stderr=subprocess.DEVNULL,
                                        stdout=subprocess.DEVNULL, pass_fds=(to_browser_read, from_browser_write))
        os.close(to_browser_read)
        os.close(from_browser_write)
        self.rest, self.number, self.complaints, self.requests = b"", 0, [], []
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        self.session = None
        self.session = self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ["Page", "Runtime", "Log", "Network"]:
            self.call(f"{domain}.enable")

    def call(self, method, **params):
        self.number += 1
        message = {"id": self.number, "method": method, "params": params}
        if getattr(self, "session", None):
            message["sessionId"] = self.session
        os.write(self.to_browser, json.dumps(message).encode() + b"\0")
        wanted = self.number
        while True:
            answer = self.receive()
            if answer.get("id") == wanted:
                if "error" in answer:
                    raise RuntimeError(f"{method}: {answer['error']}")
                return answer["result"]

    def receive(self):
        while b"\0" not in self.rest:
            self.rest += os.read(self.from_browser, 1 << 16)
        raw, self.rest = self.rest.split(b"\0", 1)
        message = json.loads(raw)
        method, params = message.get("method"), message.get("params", {})
        if method == "Runtime.exceptionThrown":
            details = params["exceptionDetails"]
            self.complaints.append(details.get("exception", {}).get("description") or details["text"])
        elif method == "Runtime.consoleAPICalled" and params["type"] in ("error", "warning", "assert"):
            self.complaints.append(" ".join(str(arg.get("value", arg.get("description"))) for arg in params["args"]))
        elif method == "Log.entryAdded" and params["entry"]["level"] in ("error", "warning"):
            self.complaints.append(params["entry"]["text"] + " " + params["entry"].get("url", ""))
        elif method == "Network.requestWillBeSent":
            self.requests.append(params["request"]["url"])
        return message

    def ask(self, expression):
        result = self.call("Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True)
        if "exceptionDetails" in result:
            raise RuntimeError(f"{expression}: {result['exceptionDetails']}")
        return result["result"].get("value")

    def wait(self, what, expression, patience=PATIENCE):
        start = time.time()
        while time.time() - start < patience:
            value = self.ask(expression)
            if value:
                print(f"  {what}: {value if not isinstance(value, bool) else 'yes'}  ({time.time() - start:.1f} s)", flush=True)
                return value
            time.sleep(0.2)
        self.shot("failed")
        raise AssertionError(f"after {patience:.0f} s still not so: {what}")

    def open(self, url):
        self.call("Page.navigate", url=url)

    def key(self, key):
        code = {"Enter": 13, "Escape": 27, " ": 32}.get(key)
        text = {"Enter": "\r"}.get(key, key if len(key) == 1 else "")
        extra = {"windowsVirtualKeyCode": code} if code else {}
        self.call("Input.dispatchKeyEvent", type="keyDown", key=key, text=text, **extra)
        self.call("Input.dispatchKeyEvent", type="keyUp", key=key, **extra)

    def look(self, scheme="light", width=1280, height=900, phone=False):
        self.call("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": scheme}])
        self.call("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=2 if phone else 1,
                  mobile=phone)
        time.sleep(0.4)

    def shot(self, name, whole=False):
        data = self.call("Page.captureScreenshot", format="png", captureBeyondViewport=whole)["data"]
        path = os.path.join(ARGUMENTS.shots, f"{name}.png")
        with open(path, "wb") as file:
            file.write(base64.b64decode(data))

    def close(self):
        self.process.terminate()
        self.process.wait()
        shutil.rmtree(self.profile, ignore_errors=True)


def watch(folder):
    process = subprocess.Popen([ARGUMENTS.sane, "-q", "watch", folder, "--port", "0"], stdout=subprocess.PIPE, text=True)
    return process, process.stdout.readline().strip()


def train(folder, agent, seed, steps, *more):
    command = [ARGUMENTS.sane, "-q", "train", "minatar/breakout", "--agent", agent, "--seed", str(seed), "--preset",
               "minatar", "--steps", str(steps), "--out", os.path.join(folder, "minatar", "breakout", agent, f"seed-{seed}"),
               "--threads", "1", "--set", "record.interval=500", "--set", "training.learning_starts=1000", *more]
    return subprocess.Popen(command)


def overflow(browser, what):
    wide = browser.ask("document.documentElement.scrollWidth - document.documentElement.clientWidth")
    assert wide <= 0, f"{what}: the page is {wide} pixels wider than the window"


def check_live(browser, folder):
    print("three finished runs, one that is trained while one looks")
    for agent, seed in [("sane", 1), ("sane", 3), ("eps-greedy", 1)]:
        assert train(folder, agent, seed, 4000, "--set", "record.film_interval=1").wait() == 0
    server, url = watch(folder)
    trainer = train(folder, "sane", 2, 400_000, "--set", "record.film_interval=2")
    try:
        browser.open(url)
        browser.wait("the table has four runs", "document.querySelectorAll('table.runs tbody tr').length === 4")
        browser.wait("one of them runs", "document.querySelectorAll('td .state.running').length === 1")
        browser.wait("its curve has points", "document.querySelectorAll('td.col-trend svg path').length === 4")
        steps = "Number(document.querySelector('tr:has(.state.running) td.col-steps').textContent.replace(/,/g, ''))"
        before = browser.ask(steps)
        browser.wait("its interactions move", f"{steps} > {before} && {steps}")
        browser.shot("overview-light")
        browser.key("?")
        browser.wait("the help opens with ?", "document.querySelector('#help').open")
        browser.shot("help")
        browser.key("Escape")
        browser.wait("and closes", "!document.querySelector('#help').open")
        browser.key("/")
        browser.wait("/ leads to the filter", "document.activeElement.type === 'search'")
        browser.call("Input.insertText", text="eps")
        browser.wait("the filter leaves one run", "document.querySelectorAll('table.runs tbody tr').length === 1")
        browser.ask("(() => { const f = document.querySelector('input[type=search]'); f.value = ''; f.dispatchEvent(new Event('input')); f.blur(); })()")
        browser.wait("and gives all back", "document.querySelectorAll('table.runs tbody tr').length === 4")

        print("the run that is trained")
        browser.key("j")
        browser.wait("j leads to a run", "document.activeElement.matches('td.col-world a')")
        browser.ask("location.hash = document.querySelector('tr:has(.state.running) a').getAttribute('href')")
        for title in ["Return", "|σ| of the states", "Effective exploration", "Loss", "Interactions per second"]:
            chart = f"[...document.querySelectorAll('.chart')].find((c) => c.textContent.startsWith({json.dumps(title)}))"
            browser.wait(f"“{title}” has points", f"(() => {{ const c = {chart}; return c && !c.hidden && 2 < Number(c.dataset.points) && c.dataset.points; }})()")
        reach = "Number(document.querySelector('.chart').dataset.reach)"
        before = browser.ask(reach)
        browser.wait("the training moves the chart", f"{reach} > {before} && {reach}")
        # An empty canvas of this size is a picture of about two thousand characters.
        browser.wait("the chart is drawn", "(() => { const size = document.querySelector('.chart canvas').toDataURL().length; return 6000 < size && size; })()")
        browser.wait("the film plays", "document.querySelector('.film .screen') && Number(document.querySelector('.film input[type=range]').value) > 3")
        browser.wait("noise-changed actions are marked", "document.querySelector('.key-changed')?.textContent")
        first = browser.ask("document.querySelector('.film .small').textContent.match(/interaction [0-9,]+/)[0]")
        # A film waits for 250 times what the last one took, which on a busy machine is minutes.
        browser.wait("a newer film comes", f"document.querySelector('.film .small').textContent.match(/interaction [0-9,]+/)[0] !== {json.dumps(first)}", 5 * PATIENCE)
        browser.shot("run-light", whole=True)
        browser.look("dark")
        browser.shot("run-dark", whole=True)
        browser.look("light", 390, 844, phone=True)
        overflow(browser, "run on a phone")
        browser.shot("run-phone", whole=True)
        browser.look("light")

        print("the end of the training")
        trainer.send_signal(signal.SIGINT)
        trainer.wait()
        browser.wait("a run that is stopped changes its state", "document.querySelector('.standing .state').textContent === 'stopped'")
        trainer = train(folder, "sane", 2, int(browser.ask(reach)) + 3000, "--set", "record.film_interval=2")
        browser.wait("resumed, it runs again", "document.querySelector('.standing .state').textContent === 'running'")
        trainer.wait()
        browser.wait("a run that ends changes its state", "document.querySelector('.standing .state').textContent === 'finished'")
        killed = train(folder, "noisynet", 1, 400_000)
        browser.key("g")
        browser.wait("a new run appears", "document.querySelectorAll('table.runs tbody tr').length === 5")
        browser.wait("and runs", "document.querySelectorAll('td .state.running').length === 1")
        killed.kill()
        killed.wait()
        browser.wait("a killed one has failed", "document.querySelectorAll('td .state.failed').length === 1")

        print("comparison")
        for _ in range(5):
            browser.key("j")
            browser.key("x")
        browser.wait("five runs are chosen", "document.querySelector('.chosen span').textContent === '5 runs chosen'")
        browser.shot("overview-chosen")
        browser.key("c")
        browser.wait("five curves", "document.querySelectorAll('.legend li').length === 5 && 2 < Number(document.querySelector('.chart').dataset.points)")
        browser.shot("compare-runs")
        browser.ask("document.querySelector('input[value=seeds]').click()")
        browser.wait("four over seeds, two of which are one", "document.querySelectorAll('.legend li').length === 4")
        browser.shot("compare-seeds")
        browser.look("dark", 390, 844, phone=True)
        overflow(browser, "comparison on a phone")
        browser.shot("compare-phone-dark", whole=True)
        browser.ask("location.hash = '#/'")
        time.sleep(0.5)
        overflow(browser, "overview on a phone")
        browser.shot("overview-phone-dark", whole=True)
        browser.look("dark")
        browser.shot("overview-dark")

        print("a folder that is deleted, a server that stops")
        shutil.rmtree(os.path.join(folder, "minatar", "breakout", "noisynet"))
        browser.wait("the run disappears", "document.querySelectorAll('table.runs tbody tr').length === 4")
        assert not browser.complaints, f"the browser complains: {browser.complaints}"
        outside = [request for request in browser.requests if not request.startswith((url, "blob:", "data:", "about:"))]
        assert not outside, f"asked for from elsewhere: {outside}"
        server.send_signal(signal.SIGINT)
        assert server.wait() == 0
        browser.wait("the page reports the lost connection", "document.querySelector('#line').textContent === 'no connection'")
    finally:
        for process in [trainer, server]:
            if process.poll() is None:
                process.kill()


def check_many(browser, folder):
    started = time.time()
    server, url = watch(folder)
    listening = time.time() - started
    try:
        shown = "document.querySelectorAll('table.runs tbody tr').length"
        times = []
        for visit in range(3):
            browser.open("about:blank")
            opened = time.time()
            browser.open(url)
            while not browser.ask(f"location.href !== 'about:blank' && 0 < {shown}"):
                time.sleep(0.01)
            seconds = time.time() - opened
            painted = browser.ask("performance.getEntriesByName('first-contentful-paint')[0]?.startTime")
            rows = browser.ask(shown)
            trends = browser.ask("document.querySelectorAll('td.col-trend svg path').length")
            times.append(seconds)
            print(f"  visit {visit + 1}: first paint {painted:.0f} ms, all {rows} runs with {trends} curves after {1000 * seconds:.0f} ms")
        print(f"  listening {1000 * listening:.0f} ms after its start")
        browser.shot("many-light")
        browser.ask("document.querySelector('th.col-return button').click()")
        time.sleep(0.3)
        opened = time.time()
        browser.ask("location.hash = document.querySelector('td.col-world a').getAttribute('href')")
        browser.wait("a run's charts", "5 < Number(document.querySelector('.chart')?.dataset.points || 0)")
        print(f"  a run of it: {1000 * (time.time() - opened):.0f} ms")
        browser.shot("many-run", whole=True)
        assert max(times) < 1.0, f"the table with all curves took {max(times):.2f} s; on a machine with nothing else to do it takes less than 1 s"
        assert not browser.complaints, f"the browser complains: {browser.complaints}"
    finally:
        server.kill()


def main():
    browser = Browser()
    try:
        if ARGUMENTS.many:
            check_many(browser, ARGUMENTS.many)
        else:
            with tempfile.TemporaryDirectory(prefix="sane-watch-runs-") as folder:
                check_live(browser, folder)
    finally:
        browser.close()
    print("all of it held; screenshots in", ARGUMENTS.shots)


parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
parser.add_argument("--sane", default="target/release/sane", help="the program")
parser.add_argument("--shots", default="target/watch-shots", help="folder for screenshots")
parser.add_argument("--many", metavar="DIR", help="measure the first paint over the runs in this folder")
ARGUMENTS = parser.parse_args()
os.makedirs(ARGUMENTS.shots, exist_ok=True)
if not os.access(ARGUMENTS.sane, os.X_OK):
    sys.exit(f"{ARGUMENTS.sane} is not there; build it with `cargo build --release`, or name another with --sane")
main()
