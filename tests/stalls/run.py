#!/usr/bin/env python3
"""Stalls a server on purpose in ten ways and asks whether `evenkeel report` names the cause at its second.

usage: run.py --evenkeel PROGRAM --port PORT --pid PID [--only NAME,..] [--out DIRECTORY] [--compare]

The server is any MySQL-speaking one on 127.0.0.1 with root and no password; PID is its process. Root of the host is needed for
`limit` (a cgroup of block devices) and `hog`; `full` fills the file system of its data and runs only where that has less
than 8 GiB. Exit status 0: at least eight of ten stalls (or all but two of those that ran) were named.
"""
import argparse
import json
import os
import re
import signal
import subprocess
import sys
import time

AT = 8  # the second of the run at which a stall begins
LENGTH = 4
CLIENT = os.environ.get("CLIENT", "mariadb")


class Stalls:
    def __init__(self, arguments):
        self.program, self.port, self.pid = arguments.evenkeel, arguments.port, arguments.pid
        self.out, self.compares = arguments.out, arguments.compare
        self.group = "/sys/fs/cgroup/blkio/stalls"
        variables = self.sql("SELECT @@datadir").strip()
        self.data = f"/proc/{self.pid}/" + ("root" + variables if variables.startswith("/") else "cwd/" + variables)

    def sql(self, text, wait=True):
        command = [CLIENT, "-h127.0.0.1", f"-P{self.port}", "-uroot", "-N", "-B", "-e", text]
        if CLIENT == "mariadb":
            command.insert(1, "--skip-ssl")
        if wait:
            done = subprocess.run(command, capture_output=True, text=True, check=False)
            if done.returncode != 0:
                print(f"            {done.stderr.strip()}", flush=True)
            return done.stdout
        return subprocess.Popen(command, stdout=subprocess.DEVNULL)

    def bench(self, what, *options):
        dsn = f"mysql://root@127.0.0.1:{self.port}/stalls"
        return [self.program, "bench", "run", what, "--dsn", dsn, "--rows", "200000", "-q", *options]

    def comparison(self, what, *options):
        dsn = f"mysql://root@127.0.0.1:{self.port}/stalls"
        servers = [f"stalled={dsn}", f"after={dsn}"]
        return [self.program, "compare", what, "--rows", "200000", "--blocks", "1", *options, *servers]

    # The stalls: each begins, lasts and ends.

    def stop(self):
        os.kill(self.pid, signal.SIGSTOP)
        time.sleep(2)
        os.kill(self.pid, signal.SIGCONT)

    def update(self):
        self.sql("UPDATE stalls.sbtest1 SET k = k + 1, c = REVERSE(c)")

    def limit(self):
        device = os.stat(self.data).st_dev
        name = f"{os.major(device)}:{os.minor(device)}"
        files = [f"{self.group}/blkio.throttle.{kind}_iops_device" for kind in ("read", "write")]
        for file in files:
            write(file, f"{name} 10")
        time.sleep(LENGTH)
        for file in files:
            write(file, f"{name} 0")

    def lock(self):
        self.sql(f"FLUSH TABLES WITH READ LOCK; DO SLEEP({LENGTH}); UNLOCK TABLES")

    def row(self):
        self.sql(f"BEGIN; SELECT COUNT(*) FROM (SELECT id FROM stalls.sbtest1 FOR UPDATE) t; DO SLEEP({LENGTH}); COMMIT")

    def checkpoint(self):
        name = "innodb_redo_log_capacity"
        if not self.sql(f"SHOW GLOBAL VARIABLES LIKE '{name}'"):
            name = "innodb_log_file_size"
        before = self.sql(f"SELECT @@{name}").strip()
        pages = [f"innodb_max_dirty_pages_pct{end}" for end in ("_lwm", "")]
        shares = [self.sql(f"SELECT @@{page}").strip() for page in pages]
        self.sql(f"SET GLOBAL {pages[0]} = 0; SET GLOBAL {pages[1]} = 0; SET GLOBAL {name} = 8388608")
        time.sleep(LENGTH)
        self.sql(f"SET GLOBAL {name} = {before}")
        self.sql(f"SET GLOBAL {pages[1]} = {shares[1]}; SET GLOBAL {pages[0]} = {shares[0]}")

    def flood(self):
        self.sql("SET GLOBAL max_connections = 4000")
        command = self.bench("oltp:point_select", "-c", "1500", "--time", "2", "--text", "--keep-going")
        subprocess.run(command, capture_output=True, check=False)

    def hog(self):
        loop = "while :; do :; done"
        hogs = [subprocess.Popen(["nice", "-n", "-15", "sh", "-c", loop]) for _ in range(2 * os.cpu_count())]
        time.sleep(LENGTH)
        for hog in hogs:
            hog.kill()
            hog.wait()

    def ddl(self):
        holder = self.sql(f"BEGIN; SELECT id FROM stalls.sbtest1 LIMIT 1; DO SLEEP({LENGTH}); COMMIT", wait=False)
        time.sleep(0.3)
        self.sql("ALTER TABLE stalls.sbtest1 COMMENT = 'changed'")
        holder.wait()

    def full(self):
        path = f"{self.data}/filler"
        room = os.statvfs(self.data)
        with open(path, "wb") as file:
            try:
                os.posix_fallocate(file.fileno(), 0, room.f_bavail * room.f_frsize - 65536)
                for _ in range(64):
                    os.write(file.fileno(), bytes(65536))
                    file.seek(0, os.SEEK_END)
            except OSError:
                pass  # There is no room left, which is what was wanted.
        time.sleep(LENGTH)
        os.remove(path)


NAMED = {
    "stop": "was stopped",
    "update": "changed very many rows",
    "limit": "cgroup was limited",
    "lock": "global read lock",
    "row": "rows that another transaction",
    "checkpoint": "redo log was|flushed in haste",
    "flood": "connections came",
    "hog": "other processes took",
    "ddl": "metadata lock",
    "full": "no room on the disk",
}


def write(path, text):
    with open(path, "w", encoding="ascii") as file:
        file.write(text)


def run(stalls, name):
    """Answers whether the cause was named, and what the report said."""
    workload, length = ("oltp:insert", 80) if name == "full" else ("oltp:write_only", 18)
    record, lines, dips, page = (f"{stalls.out}/{name}.{end}" for end in ("rec", "jsonl", "dips", "html"))
    options = ["-c", "8", "--time", str(length), "--keep-going"]
    if stalls.compares:
        command = stalls.comparison(workload, *options, "--out", page, "--lines", lines, "--dips", dips)
    else:
        command = stalls.bench(workload, *options, "--record", record, "--out", lines)
    bench = subprocess.Popen(command, stdout=subprocess.DEVNULL)
    time.sleep(AT + 0.3)
    begin = time.time() * 1000
    getattr(stalls, name)()
    end = time.time() * 1000
    bench.wait()
    if stalls.compares:
        start = next(line["began_at"] for line in map(json.loads, open(lines, encoding="utf-8")))
    else:
        report = [stalls.program, "report", record, lines, "--out", page, "--dips", dips]
        subprocess.run(report, check=True, stdout=subprocess.DEVNULL)
        seconds = (line for line in map(json.loads, open(lines, encoding="utf-8")) if line["type"] == "second")
        start = next(seconds)["at"] - 1000
    first, last = (begin - start) / 1000 - 1, (end - start) / 1000 + 1.5
    found = [line for line in map(json.loads, open(dips, encoding="utf-8")) if first <= line["second"] <= last]
    if not found:
        return None, "no second below half of the median"
    causes = [str(dip["cause"]) for dip in found]
    right = next((cause for cause in causes if re.search(NAMED[name], cause)), None)
    first_second = f"{len(found)} low seconds from {found[0]['second']:.0f}"
    return right is not None, f"{first_second}: {right or ' | '.join(sorted(set(causes)))}"


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--evenkeel", required=True)
    parser.add_argument("--port", type=int, required=True)
    parser.add_argument("--pid", type=int, required=True)
    parser.add_argument("--only", default=",".join(NAMED))
    parser.add_argument("--out", default="stalls")
    parser.add_argument("--compare", action="store_true", help="ask `compare`, whose first turn is stalled, instead of `report`")
    arguments = parser.parse_args()
    os.makedirs(arguments.out, exist_ok=True)
    stalls = Stalls(arguments)
    os.makedirs(stalls.group, exist_ok=True)
    write(f"{stalls.group}/cgroup.procs", str(stalls.pid))
    stalls.sql("CREATE DATABASE IF NOT EXISTS stalls")
    load = stalls.bench("oltp:write_only", "--load", "--time", "1")
    subprocess.run(load, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    right = ran = 0
    for name in arguments.only.split(","):
        room = os.statvfs(stalls.data)
        if name == "full" and room.f_blocks * room.f_frsize > 8 << 30:
            print("full        skipped: the file system of the data is larger than 8 GiB", flush=True)
            continue
        is_right, text = run(stalls, name)
        ran, right = ran + (is_right is not None), right + (is_right is True)
        verdict = {True: "named", False: "WRONG", None: "no stall"}[is_right]
        print(f"{name:11} {verdict:9} {text}", flush=True)
    print(f"{right} of {ran} stalls were named")
    sys.exit(0 if right >= min(8, ran - 2) and right > 0 else 1)


if __name__ == "__main__":
    main()
