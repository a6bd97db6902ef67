#!/usr/bin/env python3
"""Opens the pages of the companion in a real browser: how soon they are drawn, how large they are, what they look like.

usage: run.py --evenkeel PROGRAM [--out DIRECTORY] [--page FILE ..]

Makes a recording of 3,600 seconds with 40 and more lines, writes its page with `evenkeel report`, and opens it in headless
Chromium at 400, 1,000 and 1,600 pixels, light and dark. Each --page is opened the same way; `http://..` is one, too. The
screenshots are for people to look at. Exit status 0: the page is below 3 MB, drawn within a second of the start of its
loading, asks for nothing outside itself, and none is wider than its window. Needs chromedriver.
"""
import argparse
import base64
import json
import math
import os
import random
import subprocess
import sys
import time
import urllib.request

SECONDS = 3600
WIDTHS = (400, 1000, 1600)
PORT = 44139


def recording(path):
    """Every second of an hour as a busy server might have told it, with a stall and a gap."""
    chance = random.Random(7)
    at = 1_700_000_000_000
    variables = {"innodb_page_size": "16384", "innodb_redo_log_capacity": str(512 << 20), "datadir": "/var/lib/mysql/"}
    durability = {"commit_flush": "1", "doublewrite": "ON", "binlog_sync": "no binlog"}
    server = {"version": "9.7.0-made-up", "comment": "no server", "variables": variables, "durability": durability}
    host = {"name": "host", "kernel": "6.1", "processors": 8, "model": "made up", "memory_kb": 32 << 20}
    lines = [
        {"type": "recording", "format": 1, "at": at, "dsn": "mysql://root@127.0.0.1:3306/", "server": server, "host": host},
        {"type": "bench", "workload": "oltp:read_write rows=1000000", "connections": 64, "seed": 1, "rate": None},
    ]
    counters = {
        "server": {
            "Questions": 40000, "Innodb_os_log_written": 30e6, "Innodb_data_written": 90e6, "Innodb_os_log_fsyncs": 900,
            "Innodb_data_fsyncs": 1100, "Innodb_buffer_pool_reads": 2500, "Innodb_buffer_pool_read_ahead": 120,
            "Innodb_buffer_pool_read_requests": 900000, "Innodb_row_lock_waits": 40, "Innodb_log_waits": 0.2,
            "Innodb_buffer_pool_wait_free": 0.1, "Innodb_deadlocks": 0.3,
        },
        "host": {
            "disk.sda.reads": 2600, "disk.sda.writes": 3100, "disk.sda.flushes": 900, "disk.sda.read_ms": 2100,
            "disk.sda.write_ms": 3300, "disk.sda.read_sectors": 84000, "disk.sda.write_sectors": 260000,
            "disk.sda.queue_ms": 5400, "cpu.user": 410, "cpu.nice": 0, "cpu.system": 160, "cpu.idle": 160, "cpu.iowait": 50,
            "cpu.irq": 0, "cpu.softirq": 20, "cpu.steal": 3, "server.cpu": 520, "psi.cpu.some_us": 210000,
            "psi.io.some_us": 340000, "psi.memory.some_us": 900,
        },
    }
    gauges = {
        "server": {
            "Innodb_checkpoint_age": 240e6, "Innodb_buffer_pool_pages_dirty": 21000, "Threads_running": 38, "trx.active": 31,
            "trx.oldest_seconds": 1, "Innodb_row_lock_current_waits": 2, "Innodb_history_list_length": 1400,
            "state.Query/updating": 11, "state.Query/statistics": 9, "state.Query/starting": 4, "state.Query/init": 3,
            "state.Query/waiting for handler commit": 8, "state.Query/Sending to client": 2,
        },
        "host": {"cpu.running": 9, "cpu.blocked": 3, "server.rss_kb": 9 << 20},
    }
    sums = {name: 0 for kind in counters.values() for name in kind}
    for second in range(SECONDS):
        is_low = 1800 <= second < 1804
        wave = (0.1 if is_low else 1.0) * (1 + 0.15 * math.sin(second / 90))
        if not 2700 <= second < 2712:
            for kind in ("server", "host"):
                values = {}
                for name, rate in counters[kind].items():
                    sums[name] += rate * wave * chance.uniform(0.8, 1.2)
                    values[name] = int(sums[name])
                for name, value in gauges[kind].items():
                    values[name] = round(value * chance.uniform(0.7, 1.3) * (1 + second / 9000))
                lines.append({"type": kind, "at": at + second * 1000, "set": values})
        p50 = 14000 / wave * chance.uniform(0.9, 1.1)
        lines.append({
            "type": "second", "t": second, "at": at + second * 1000 + 1000, "events": int(2000 * wave * chance.uniform(0.9, 1.1)),
            "queries": 40000, "commits": 2000, "conflicts": chance.randrange(3), "errors": chance.randrange(2), "reconnects": 0,
            "p50_us": int(p50), "p95_us": int(p50 * 3), "p99_us": int(p50 * 6), "max_us": int(p50 * 20), "backlog": chance.randrange(4),
            "open": 64, "oldest_us": int(p50 * 30), "length": 1.0,
        })
    lines.append({"type": "gap", "at": at + 2700_000, "until": at + 2712_000, "why": "no answer within 1.5 s"})
    summary = {"type": "summary", "tps": 2000, "p50_us": 14000, "p95_us": 42000, "p99_us": 84000, "max_us": 900000}
    lines.append(summary | {"conflicts": 3600, "errors": 1800, "kinds": []})
    with open(path, "w", encoding="utf-8") as file:
        file.writelines(json.dumps(line) + "\n" for line in lines)


class Browser:
    def __init__(self):
        self.driver = subprocess.Popen(["chromedriver", f"--port={PORT}"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        arguments = ["--headless=new", "--no-sandbox", "--disable-gpu", "--hide-scrollbars", "--allow-file-access-from-files"]
        wanted = {"browserName": "chrome", "goog:chromeOptions": {"args": arguments}, "goog:loggingPrefs": {"browser": "ALL"}}
        for attempt in range(100):
            try:
                self.session = self.ask("POST", "/session", {"capabilities": {"alwaysMatch": wanted}})["sessionId"]
                return
            except OSError:
                if attempt == 99:
                    raise
                time.sleep(0.1)

    def ask(self, method, path, body=None):
        data = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(f"http://127.0.0.1:{PORT}{path}", data, {"Content-Type": "application/json"}, method=method)
        with urllib.request.urlopen(request, timeout=60) as answer:
            return json.load(answer)["value"]

    def page(self, method, path, body=None):
        return self.ask(method, f"/session/{self.session}/{path}", body)

    def script(self, text):
        return self.page("POST", "execute/sync", {"script": text, "args": []})

    def command(self, name, **parameters):
        return self.page("POST", "goog/cdp/execute", {"cmd": name, "params": parameters})

    def close(self):
        try:
            self.ask("DELETE", f"/session/{self.session}")
        finally:
            self.driver.terminate()
            self.driver.wait()


def look(browser, address, width, theme, picture):
    """Opens a page; answers when it was drawn, what it asked for, and by how much it is too wide."""
    browser.command("Emulation.setDeviceMetricsOverride", width=width, height=1000, deviceScaleFactor=1, mobile=False)
    browser.command("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": theme}])
    browser.page("POST", "url", {"url": address})
    for _ in range(100):
        drawn = browser.script("return document.documentElement.dataset.drawn")
        if drawn:
            break
        time.sleep(0.05)
    time.sleep(2.5 if address.startswith("http") else 0.3)
    asked = browser.script("return performance.getEntriesByType('resource').map(one => one.name)")
    wide = browser.script("return document.documentElement.scrollWidth - innerWidth")
    height = min(browser.script("return document.documentElement.scrollHeight"), 12000)
    browser.command("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=False)
    time.sleep(0.5)
    with open(picture, "wb") as file:
        file.write(base64.b64decode(browser.command("Page.captureScreenshot", format="png")["data"]))
    return int(drawn or -1), asked, wide


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--evenkeel", required=True)
    parser.add_argument("--out", default="pages")
    parser.add_argument("--page", action="append", default=[])
    arguments = parser.parse_args()
    out = os.path.abspath(arguments.out)
    os.makedirs(out, exist_ok=True)
    recording(f"{out}/hour.jsonl")
    page = f"{out}/hour.html"
    subprocess.run([arguments.evenkeel, "report", f"{out}/hour.jsonl", "--out", page], check=True, stdout=subprocess.DEVNULL)
    with open(page, encoding="utf-8") as file:
        text = file.read()
    lines = text.count('"points":')
    is_good = len(text) < 3_000_000 and lines >= 40
    print(f"hour.html: {SECONDS} seconds, {lines} lines, {len(text.encode())} bytes")
    browser = Browser()
    try:
        for address in [page, *arguments.page]:
            name = os.path.basename(address.rstrip("/")).split(".")[0].replace(":", "-")
            url = address if "://" in address else "file://" + os.path.abspath(address)
            for width in WIDTHS:
                for theme in ("light", "dark"):
                    drawn, asked, wide = look(browser, url, width, theme, f"{out}/{name}-{width}-{theme}.png")
                    outside = [one for one in asked if not one.startswith(url)]
                    is_good &= 0 <= drawn <= 1000 and not outside and wide <= 0
                    print(f"{name} {width} {theme}: drawn after {drawn} ms, {wide} pixels too wide, asks for {outside}", flush=True)
    finally:
        browser.close()
    sys.exit(0 if is_good else 1)


if __name__ == "__main__":
    main()
