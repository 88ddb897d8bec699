#!/usr/bin/env python3
"""The live page in a real browser: starts a training and `sane watch`, drives Chromium, checks what it shows.

    tools/watch_browser_test.py                       # uses target/release/sane; screenshots into target/watch-shots
    tools/watch_browser_test.py --sane PATH --shots DIR
    tools/watch_browser_test.py --only suite          # one part: suite (with one run alone), hostile, warnings, live
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
        self.downloads = tempfile.mkdtemp(prefix="sane-watch-downloads-")
        self.new_tab()

    def new_tab(self):
        """Opens a tab and returns the one that was driven before, for `back_to`."""
        before = getattr(self, "session", None)
        self.session = None
        self.target = self.call("Target.createTarget", url="about:blank")["targetId"]
        self.session = self.call("Target.attachToTarget", targetId=self.target, flatten=True)["sessionId"]
        for domain in ["Page", "Runtime", "Log", "Network"]:
            self.call(f"{domain}.enable")
        session, self.session = self.session, None
        self.call("Browser.setDownloadBehavior", behavior="allow", downloadPath=self.downloads)
        self.session = session
        return before

    def back_to(self, tab):
        """Closes the tab that is driven; a tab behind another is not painted."""
        self.session = None
        self.call("Target.closeTarget", targetId=self.target)
        self.session = tab
        self.call("Page.bringToFront")

    def downloaded(self, name):
        """The content of a file, once the browser has saved it whole."""
        path = os.path.join(self.downloads, name)
        start = time.time()
        while not os.path.exists(path):
            assert time.time() - start < PATIENCE, f"{name} was not saved; there is {os.listdir(self.downloads)}"
            time.sleep(0.1)
        with open(path, "rb") as file:
            content = file.read()
        os.remove(path)
        print(f"  saved: {name}, {len(content)} bytes", flush=True)
        return content

    def mouse(self, kind, x, y, clicks=1):
        self.call("Input.dispatchMouseEvent", type=kind, x=x, y=y, button="left", buttons=0 if kind == "mouseReleased" else 1,
                  clickCount=clicks)

    def drag(self, x_from, x_to, y):
        self.mouse("mousePressed", x_from, y)
        for share in [0.25, 0.5, 0.75, 1.0]:
            self.mouse("mouseMoved", x_from + share * (x_to - x_from), y)
        self.mouse("mouseReleased", x_to, y)

    def double_click(self, x, y):
        for clicks in [1, 2]:
            self.mouse("mousePressed", x, y, clicks)
            self.mouse("mouseReleased", x, y, clicks)

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
        extra = {}
        if whole:
            size = self.call("Page.getLayoutMetrics")["cssContentSize"]
            extra = {"clip": {"x": 0, "y": 0, "width": size["width"], "height": min(size["height"], 6000), "scale": 1}}
        data = self.call("Page.captureScreenshot", format="png", captureBeyondViewport=whole, **extra)["data"]
        path = os.path.join(ARGUMENTS.shots, f"{name}.png")
        with open(path, "wb") as file:
            file.write(base64.b64decode(data))

    def close(self):
        self.process.terminate()
        self.process.wait()
        shutil.rmtree(self.profile, ignore_errors=True)
        shutil.rmtree(self.downloads, ignore_errors=True)


def watch(folder):
    process = subprocess.Popen([ARGUMENTS.sane, "-q", "watch", folder, "--port", "0"], stdout=subprocess.PIPE, text=True)
    return process, process.stdout.readline().strip()


def train(folder, agent, seed, steps, *more, world="minatar/breakout", preset=("--preset", "minatar")):
    command = [ARGUMENTS.sane, "-q", "train", world, "--agent", agent, "--seed", str(seed), *preset, "--steps", str(steps),
               "--out", os.path.join(folder, world, agent, f"seed-{seed}"), "--threads", "1", "--set", "record.interval=500",
               "--set", "training.learning_starts=1000", *more]
    return subprocess.Popen(command)


def overflow(browser, what):
    wide = browser.ask("Math.max(document.documentElement.scrollWidth, document.body.scrollWidth) - innerWidth")
    assert wide <= 0, f"{what}: the page is {wide} pixels wider than the window"


# Texts whose box is too narrow for them and that no ellipsis shortens, and texts that lie over each other.
CUT = """(() => {
  const bad = [];
  const seen = (e) => {
    let { left, right, top, bottom } = e.getBoundingClientRect();
    for (let a = e.parentElement; a; a = a.parentElement) {
      if (getComputedStyle(a).overflow === 'visible') continue;
      const b = a.getBoundingClientRect();
      [left, right, top, bottom] = [Math.max(left, b.left), Math.min(right, b.right), Math.max(top, b.top), Math.min(bottom, b.bottom)];
    }
    return { left, right, top, bottom, width: right - left, height: bottom - top };
  };
  const leaves = [...document.querySelectorAll('main *, header *')].filter((e) => e.checkVisibility() && [...e.childNodes].some((n) => n.nodeType === 3 && n.textContent.trim()));
  for (const e of leaves) {
    const style = getComputedStyle(e);
    if (style.overflow !== 'visible' && style.textOverflow !== 'ellipsis' && e.scrollWidth > e.clientWidth + 1 && !e.closest('pre, .shares, .hidden')) bad.push('cut: ' + e.textContent.slice(0, 60));
    const box = seen(e);
    if (innerWidth + 1 < box.right && !e.closest('.scroll, pre, .hidden, .skip')) bad.push('outside: ' + e.textContent.slice(0, 60));
  }
  const boxes = leaves.filter((e) => !e.closest('.tip, .chosen, details, dialog, .hidden, .skip') && !['OPTION'].includes(e.tagName)).map((e) => [e, seen(e)]).filter(([, b]) => b.width > 1 && b.height > 1);
  for (let i = 0; i < boxes.length; i += 1) {
    for (let j = i + 1; j < Math.min(boxes.length, i + 40); j += 1) {
      const [a, p] = boxes[i], [b, q] = boxes[j];
      if (a.contains(b) || b.contains(a) || a.closest('header, thead') !== b.closest('header, thead')) continue;
      const across = Math.min(p.right, q.right) - Math.max(p.left, q.left);
      const down = Math.min(p.bottom, q.bottom) - Math.max(p.top, q.top);
      if (3 < across && 3 < down) bad.push('overlap: ' + a.textContent.slice(0, 40) + ' / ' + b.textContent.slice(0, 40));
    }
  }
  return [...new Set(bad)].slice(0, 8);
})()"""


def look_at_all(browser, url, name):
    """Every view at three widths, light and dark: nothing is wider than the window, cut or covered; a picture of each."""
    rows = "document.querySelectorAll('table.runs tbody tr').length"
    browser.open(url)
    browser.wait(f"{name}: runs", rows)
    first = browser.ask("document.querySelector('tr:has(.agent.c1) td.col-world a, td.col-world a').getAttribute('href')")
    ready = "0 < document.querySelectorAll('.chart').length && [...document.querySelectorAll('.chart')].every((c) => c.hidden || 'points' in c.dataset)"
    views = [("overview", "#/?sort=world", rows), ("run", first, ready), ("compare-run", "#/compare?runs=all&by=run", ready), ("compare-agent", "#/compare?runs=all&by=agent", ready)]
    for view, address, shown in views:
        browser.ask(f"location.hash = {json.dumps(address)}")
        browser.wait(f"{name}: {view}", f"location.hash.startsWith({json.dumps(address.split('?')[0])}) && {shown}")
        time.sleep(0.3)
        for width, height in [(1280, 900), (1920, 1080), (390, 844)]:
            for scheme in ["light", "dark"]:
                browser.look(scheme, width, height, phone=width == 390)
                what = f"{name}-{view}-{width}-{scheme}"
                overflow(browser, what)
                bad = browser.ask(CUT)
                browser.shot(what, whole=True)
                assert not bad, f"{what}: {bad}"
    browser.look("light")


def check_suite(browser, folder):
    print("one run alone")
    assert train(folder, "sane", 1, 3000, "--set", "record.film_interval=1").wait() == 0
    seed_1 = os.path.join(folder, "minatar/breakout/sane/seed-1")
    write_evaluations(seed_1)
    subprocess.run([ARGUMENTS.sane, "-q", "risk", "gallery", seed_1, "--interactions", "600", "--states", "4"], check=True,
                   stdout=subprocess.DEVNULL)
    server, url = watch(folder)
    try:
        look_at_all(browser, url, "one")
        print("its gallery")
        browser.open(url)
        browser.wait("the table", "document.querySelector('td.col-world a') !== null")
        browser.ask("document.querySelector('td.col-world a').click()")
        browser.wait("thumbnails", "document.querySelectorAll('.thumb .frame').length === 8 && [...document.querySelectorAll('.frame')].every((f) => 4 < f.width)")
        browser.ask("document.querySelector('.thumb').click()")
        browser.wait("one of them large", "document.querySelector('dialog.picture').open")
        first = browser.ask("document.querySelector('dialog.picture b').textContent")
        browser.key("ArrowRight")
        browser.wait("the next one", f"document.querySelector('dialog.picture b').textContent !== {json.dumps(first)}")
        browser.shot("gallery-large")
        browser.look("dark", 390, 844, phone=True)
        overflow(browser, "gallery on a phone")
        browser.shot("gallery-large-phone-dark")
        browser.look("light")
        browser.key("Escape")
        browser.wait("closed", "!document.querySelector('dialog.picture').open")
        browser.wait("evaluations while training have a chart", "[...document.querySelectorAll('.chart')].some((c) => !c.hidden && c.textContent.startsWith('Evaluation while training') && c.dataset.points === '6')")
        assert not browser.complaints, f"the browser complains: {browser.complaints}"
    finally:
        # A page that is left open would complain of the end of its server.
        browser.open("about:blank")
        server.kill()

    print("four agents, two games with presets of their own, two seeds")
    shutil.rmtree(os.path.join(folder, "minatar"))
    for world, preset in [("minatar/breakout", ("--preset", "minatar")), ("risky-road", ())]:
        for agent in ["q-sane", "sane", "noisynet", "eps-greedy"]:
            for seed in [1, 2]:
                assert train(folder, agent, seed, 1300, "--set", "record.interval=100", world=world, preset=preset).wait() == 0
    for seed in [1, 2]:
        write_evaluations(os.path.join(folder, f"minatar/breakout/sane/seed-{seed}"), seed)
    server, url = watch(folder)
    try:
        browser.open(url)
        browser.wait("sixteen runs", "document.querySelectorAll('table.runs tbody tr').length === 16")
        agents = browser.ask("[...document.querySelectorAll('select[aria-label=Agent] option')].map((o) => o.textContent)")
        assert agents == ["All agents", "eps-greedy", "noisynet", "q-sane", "sane"], f"an agent is an agent in every game: {agents}"

        print("filter, in the address and in a new tab")
        browser.key("/")
        browser.call("Input.insertText", text="road sane 2")
        browser.wait("two runs", "document.querySelectorAll('table.runs tbody tr').length === 2")
        browser.ask("document.querySelector('th.col-return button').click()")
        address = browser.ask("location.href")
        tab = browser.new_tab()
        browser.open(address)
        browser.wait("the same two in a new tab", "document.querySelectorAll('table.runs tbody tr').length === 2 && document.querySelector('input[type=search]').value === 'road sane 2' && document.querySelector('th.col-return').ariaSort === 'descending'")
        browser.back_to(tab)
        browser.ask("document.querySelector('[data-save=runs]').click()")
        lines = browser.downloaded("runs.csv").decode().splitlines()
        assert len(lines) == 3 and lines[0].startswith("game,agent,settings,seed"), lines

        print("comparison: a panel per game")
        browser.open(url + "#/compare?runs=all")
        panels = "document.querySelectorAll('.panels .chart').length"
        drawn = "[...document.querySelectorAll('.panels .chart')].every((c) => 3 < Number(c.dataset.points))"
        browser.wait("two panels", f"{panels} === 2 && {drawn} && document.querySelectorAll('.legend li').length === 16")
        looks = browser.ask("[...document.querySelectorAll('.panels .chart')].map((c) => new Set([...c.querySelectorAll('.sample')].map((s) => s.toDataURL())).size)")
        assert looks == [8, 8], f"no two curves of a panel look alike: {looks}"
        browser.ask("document.querySelector('input[value=agent]').click()")
        browser.wait("four agents in each", f"{drawn} && document.querySelectorAll('.legend li').length === 8")

        print("zoom, smoothing, axes")
        box = browser.ask("(() => { const b = document.querySelector('.panels canvas').getBoundingClientRect(); return [b.left, b.right, b.top + b.height / 2]; })()")
        picture = "document.querySelector('.panels canvas').toDataURL()"
        whole = browser.ask(picture)
        browser.drag(box[0] + 0.4 * (box[1] - box[0]), box[0] + 0.7 * (box[1] - box[0]), box[2])
        browser.wait("the part that was dragged over is in the address", "/zoom=[0-9.]+~[0-9.]+/.test(location.hash) && !document.querySelector('.whole').hidden")
        browser.shot("compare-zoomed")
        assert browser.ask(picture) != whole
        browser.double_click(box[0] + 0.5 * (box[1] - box[0]), box[2])
        browser.wait("double click: the whole", "!location.hash.includes('zoom=') && document.querySelector('.whole').hidden")
        rough = browser.ask(picture)
        browser.ask("(() => { const s = document.querySelector('input[aria-label=Smoothing]'); s.value = 0.8; s.dispatchEvent(new Event('input')); })()")
        browser.wait("smoothed", f"location.hash.includes('smooth=0.8') && {picture} !== {json.dumps(rough)}")
        for axis in ["frames", "seconds", "episodes"]:
            before = browser.ask(picture)
            browser.ask(f"(() => {{ const s = document.querySelector('select[aria-label=Over]'); s.value = '{axis}'; s.dispatchEvent(new Event('change')); }})()")
            browser.wait(f"over {axis}", f"location.hash.includes('x={axis}') && {drawn} && {picture} !== {json.dumps(before)}")
            browser.shot(f"compare-{axis}")
        browser.drag(box[0] + 0.3 * (box[1] - box[0]), box[0] + 0.8 * (box[1] - box[0]), box[2])
        browser.wait("zoomed again", "location.hash.includes('zoom=')")
        browser.ask("document.querySelector('.tools .small-button').click()")
        browser.wait("logarithmic", "location.hash.includes('log=1')")

        print("the address in a new tab")
        address = browser.ask("location.href")
        state = "JSON.stringify([location.hash.split('&').sort(), document.querySelectorAll('.legend li').length, document.querySelector('select[aria-label=Over]').value, document.querySelector('input[aria-label=Smoothing]').value, document.querySelector('input[name=by]:checked').value, [...document.querySelectorAll('.panels .chart')].map((c) => c.dataset.reach), [...document.querySelectorAll('.scale')].map((b) => b.ariaPressed)])"
        before = browser.ask(state)
        tab = browser.new_tab()
        browser.open(address)
        browser.wait("all is as it was", f"{panels} === 2 && {drawn} && {state} === {json.dumps(before)}")
        browser.back_to(tab)

        print("downloads")
        save = "document.querySelector('.panels [data-save={}]').click()"
        browser.ask(save.format("CSV"))
        lines = browser.downloaded("minatar-breakout-return.csv").decode().splitlines()
        assert lines[0] == "game,agent,seeds,quantity,episodes,mean,low,high" and 20 < len(lines), lines[:3]
        assert {line.split(",")[1] for line in lines[1:]} == {"q-sane", "sane", "noisynet", "eps-greedy"}
        browser.ask(save.format("SVG"))
        svg = browser.downloaded("minatar-breakout-return.svg").decode()
        assert svg.startswith("<svg") and "q-sane, 2 seeds" in svg and "episodes" in svg
        browser.ask(save.format("PNG"))
        assert browser.downloaded("minatar-breakout-return.png").startswith(b"\x89PNG")
        browser.ask("document.querySelector('[data-save=all]').click()")
        lines = browser.downloaded("comparison-curve.csv").decode().splitlines()
        assert {line.split(",")[0] for line in lines[1:]} == {"minatar/breakout", "risky-road"}
        with open(os.path.join(ARGUMENTS.shots, "saved.svg"), "w") as file:
            file.write(svg)
        browser.ask("document.querySelector('input[value=evaluation]').click()")
        browser.wait("evaluations compared", "[...document.querySelectorAll('.panels .chart')].some((c) => 5 < Number(c.dataset.points))")
        browser.shot("compare-evaluation")
        assert not browser.complaints, f"the browser complains: {browser.complaints}"
        look_at_all(browser, url, "suite")
    finally:
        # A page that is left open would complain of the end of its server.
        browser.open("about:blank")
        server.kill()


def write_evaluations(folder, seed=1):
    """Evaluations while training as the trainer writes them, whether or not this one did."""
    with open(os.path.join(folder, "evaluations_in_training.jsonl"), "w") as file:
        for i in range(1, 7):
            returns = [i * 0.7 + (seed + j * 37 * i) % 5 * 0.3 for j in range(8)]
            line = {"interactions": 200 * i, "episodes": 8, "mean": sum(returns) / 8, "returns": returns, "best": True}
            file.write(json.dumps(line) + "\n")


def check_hostile(browser, folder):
    print("names that would be markup, and names without end")
    evil = "<img src=x onerror=alert(1)>"
    for agent, world in [(evil, evil), ("a" * 300, "gym:" + "LongName" * 40), ("=1+1", "boxing")]:
        run = os.path.join(folder, f"run-{len(world)}-{len(agent)}")
        os.makedirs(run)
        with open(os.path.join(run, "config.toml"), "w") as file:
            file.write(f"agent = '{agent}'\nseed = 1\n[world]\nname = '{world}'\n[training]\ntotal_interactions = 900\n")
        with open(os.path.join(run, "events.jsonl"), "w") as file:
            for i in range(1, 9):
                line = {"event": "episode_finished", "interactions": 100 * i, "episode": i, "return_raw": i, "return_mean_last_100": i}
                file.write(json.dumps(line, separators=(",", ":")) + "\n")
        write_evaluations(run)
    server, url = watch(folder)
    try:
        look_at_all(browser, url, "hostile")
        assert browser.ask("document.images.length") <= 1, "only the icon is a picture"
        browser.ask("location.hash = '#/compare?runs=all&by=run'")
        browser.wait("three panels", "document.querySelectorAll('.panels .chart').length === 3 && [...document.querySelectorAll('.panels .chart')].every((c) => 3 < Number(c.dataset.points))")
        browser.ask("document.querySelector('[data-save=all]').click()")
        text = browser.downloaded("comparison-curve.csv").decode()
        assert "'=1+1" in text and evil in text
        browser.ask("[...document.querySelectorAll('.panels .chart')].find((c) => c.textContent.includes('onerror')).querySelector('[data-save=SVG]').click()")
        svg = browser.downloaded("img-src-x-onerror-alert-1-return.svg").decode()
        assert "<img" not in svg and "&lt;img" in svg
        assert not browser.complaints, f"the browser complains: {browser.complaints}"
    finally:
        # A page that is left open would complain of the end of its server.
        browser.open("about:blank")
        server.kill()


def check_warnings(browser, folder):
    print("a perturbation module that is off in most states")
    # Steps ten thousand times as large switch its units off within a few hundred interactions.
    for seed, rate in [(1, "1.0"), (2, "10000.0")]:
        assert train(folder, "sane", seed, 2500, "--set", f"learner.exploration.module.learning_rate_scale={rate}").wait() == 0
    server, url = watch(folder)
    try:
        for seed, warned in [(1, False), (2, True)]:
            browser.open("about:blank")
            browser.open(url)
            row = f"[...document.querySelectorAll('table.runs tbody tr')].find((r) => r.querySelector('td.col-seed')?.textContent === '{seed}')"
            browser.wait(f"seed {seed} in the table", f"{row} !== undefined")
            browser.ask(f"location.hash = {row}.querySelector('td.col-world a').getAttribute('href')")
            share = "[...document.querySelectorAll('.figures div')].find((d) => d.textContent.startsWith('States without σ(s)'))?.textContent"
            browser.wait("the share of its states without σ(s)", share)
            assert ("⚠" in browser.ask(share)) == warned, browser.ask(share)
            browser.shot(f"dead-states-{seed}", whole=True)
    finally:
        server.kill()


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
        browser.wait("the time left is that of a run that learns", "/Time left[0-9.]+ (min|h|days)at its speed since it learns/.test(document.querySelector('.figures').textContent)")
        reach = "Number(document.querySelector('.chart').dataset.reach)"
        before = browser.ask(reach)
        browser.wait("the training moves the chart", f"{reach} > {before} && {reach}")
        # An empty canvas of this size is a picture of about two thousand characters.
        browser.wait("the chart is drawn", "(() => { const size = document.querySelector('.chart canvas').toDataURL().length; return 6000 < size && size; })()")
        browser.wait("the film plays", "document.querySelector('.film .screen') && Number(document.querySelector('.film input[type=range]').value) > 3")
        browser.wait("noise-changed actions are marked", "document.querySelector('.key-changed')?.textContent")
        first = browser.ask("document.querySelector('.film-grid .small').textContent.match(/interaction [0-9,]+/)[0]")
        # A film waits for 250 times what the last one took, which on a busy machine is minutes.
        browser.wait("a newer film comes", f"document.querySelector('.film-grid .small').textContent.match(/interaction [0-9,]+/)[0] !== {json.dumps(first)}", 5 * PATIENCE)
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
        browser.wait("a run that is stopped changes its state", "document.querySelector('.run-progress .state').textContent === 'stopped'")
        trainer = train(folder, "sane", 2, int(browser.ask(reach)) + 3000, "--set", "record.film_interval=2")
        browser.wait("resumed, it runs again", "document.querySelector('.run-progress .state').textContent === 'running'")
        trainer.wait()
        browser.wait("a run that ends changes its state", "document.querySelector('.run-progress .state').textContent === 'finished'")
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
        browser.ask("document.querySelector('input[value=agent]').click()")
        browser.wait("fewer by agent", "document.querySelectorAll('.legend li').length === 4")
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
        assert browser.ask("document.querySelectorAll('select[aria-label=Agent] option').length") == 5
        browser.ask("document.querySelector('th.col-return button').click()")
        time.sleep(0.3)
        opened = time.time()
        browser.ask("location.hash = document.querySelector('td.col-world a').getAttribute('href')")
        browser.wait("a run's charts", "5 < Number(document.querySelector('.chart')?.dataset.points || 0)")
        print(f"  a run of it: {1000 * (time.time() - opened):.0f} ms")
        opened = time.time()
        browser.ask("location.hash = '#/compare?runs=all'")
        panels = "document.querySelectorAll('.panels .chart').length === 11 && [...document.querySelectorAll('.panels .chart')].every((c) => {} < Number(c.dataset.points))"
        browser.wait("eleven panels by agent, sketched", panels.format(20))
        print(f"  all of them sketched: {1000 * (time.time() - opened):.0f} ms")
        browser.wait("and whole", panels.format(100))
        print(f"  all of them compared: {1000 * (time.time() - opened):.0f} ms")
        opened = time.time()
        browser.ask("document.querySelector('input[value=sigma]').click()")
        browser.wait("another quantity", "[...document.querySelectorAll('.panels .chart')].every((c) => 50 < Number(c.dataset.points)) && location.hash.includes('sigma')")
        print(f"  another quantity: {1000 * (time.time() - opened):.0f} ms")
        look_at_all(browser, url, "many")
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
            for name, check in [("suite", check_suite), ("hostile", check_hostile), ("warnings", check_warnings), ("live", check_live)]:
                if ARGUMENTS.only in (None, name):
                    # Each part has servers of its own.
                    browser.requests.clear()
                    with tempfile.TemporaryDirectory(prefix="sane-watch-runs-") as folder:
                        check(browser, folder)
    finally:
        browser.close()
    print("all of it held; screenshots in", ARGUMENTS.shots)


parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
parser.add_argument("--sane", default="target/release/sane", help="the program")
parser.add_argument("--shots", default="target/watch-shots", help="folder for screenshots")
parser.add_argument("--only", choices=["suite", "hostile", "warnings", "live"], help="one part of the test")
parser.add_argument("--many", metavar="DIR", help="measure the first paint over the runs in this folder")
ARGUMENTS = parser.parse_args()
os.makedirs(ARGUMENTS.shots, exist_ok=True)
if not os.access(ARGUMENTS.sane, os.X_OK):
    sys.exit(f"{ARGUMENTS.sane} is not there; build it with `cargo build --release`, or name another with --sane")
main()
