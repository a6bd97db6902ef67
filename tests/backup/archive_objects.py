#!/usr/bin/env python3
"""The archive of the log as objects of a store that fails, is away and comes back; and what is restored from there.

    archive_objects.py [--seconds 30] [--away 20] [--restores 5] [--kills 2] [--faults 0.05]

Writers whose commits are known (`oracle.py`) work on a server whose `log-archive-dir` and `backup-dir` are folders of `s3_server.py`, which
checks every signature. Meanwhile the store is away for a while, and the server is killed, once of these while it is away, so that it starts
without its archive. Then: `verify` of the archive, restores of the backup and the archive to random moments, RESTORE TABLE and
`evenkeel restore-table` out of objects, `prune`, and a server with a wrong secret, which must not start and has to say why. The server is
`$EVENKEEL_PROGRAM` (target/release/evenkeel). Needs pymysql. Exit status 1: something was wrong.
"""

import argparse
import os
import random
import subprocess
import sys
import time
import urllib.request

from place import Place, told
from oracle import Oracle

AGAIN = "is archived in s3://backups/archive/one again"
HERE = os.path.dirname(os.path.abspath(__file__))


class Store:
    def __init__(self, options):
        self.endpoint = f"http://127.0.0.1:{options.port + 2}"
        words = [sys.executable, f"{HERE}/s3_server.py", str(options.port + 2), "--faults", str(options.faults)]
        self.process = subprocess.Popen([*words, "--seed", str(options.seed)])
        os.environ |= {"AWS_ACCESS_KEY_ID": "test", "AWS_SECRET_ACCESS_KEY": "secret", "AWS_REGION": "us-east-1"}
        os.environ["AWS_ENDPOINT_URL"] = self.endpoint
        for _ in range(100):
            try:
                self.ask("/")
                return
            except OSError:
                time.sleep(0.1)

    def ask(self, path):
        with urllib.request.urlopen(self.endpoint + path) as answer:
            return answer.read()

    def go_away(self, seconds):
        self.ask(f"/away?{seconds}")


def log_of(place):
    with open(place.server.directory + ".log", encoding="utf8", errors="replace") as file:
        return file.read()


def disturb(options, place, store):
    """The store is away, and the server is killed, once while the store is away."""
    part = options.seconds / (options.kills + 1)
    for number in range(options.kills):
        time.sleep(part)
        if number == 0:
            store.go_away(options.away)
            time.sleep(options.away / 4)
        place.server.kill()
        began = time.time()
        place.server.start()
        print(f"started in {time.time() - began:.1f} s{' while the store is away' if number == 0 else ''}", flush=True)
        if number == 0:
            until = time.time() + options.away + 60
            while AGAIN not in log_of(place) and time.time() < until:
                time.sleep(0.5)
    time.sleep(part)
    if options.kills == 0:
        store.go_away(options.away)
        time.sleep(options.away)


def restores(options, place, oracle, backup):
    began = oracle.began_at
    for _ in range(options.restores):
        moment = random.uniform(began, time.time() - 3)
        local = time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(moment)) + f"{moment % 1:.6f}"[1:]
        place.check(oracle, f"as of {local}", [backup], "--archive", place.archive, "--until", local, moment=moment, which=0)


def run(options):
    store = Store(options)
    options.archive = "s3://backups/archive/one"
    place = Place(options, ["--backup-dir=s3://backups/shop/", "--innodb-redo-log-capacity=64M"])
    oracle = Oracle(place.server)
    backup = "s3://backups/shop/full.ekb"
    code, said = told("backup", "--dsn", place.dsn(), "--to", backup, "--compress")
    if code != 0:
        place.fault(f"the backup failed: {said}")
    oracle.began_at = time.time() + 0.1
    time.sleep(0.2)
    disturb(options, place, store)
    oracle.stop()
    least = oracle.versions()
    time.sleep(3)
    log = log_of(place)
    gaps = log.count("lacks the log")
    for wanted in ["cannot be archived in s3://", AGAIN]:
        if wanted not in log:
            place.fault(f"the server's log has no line with '{wanted}'")
    code, said = told("verify", options.archive)
    if code != 0:
        place.fault(f"verify of the archive ends with {code}: {said}")
    files = said.count(" bytes, LSN ")
    if gaps == 0:
        place.check(oracle, "all", [backup], "--archive", options.archive, least=least)
        restores(options, place, oracle, backup)
    rows = place.server.query("SELECT COUNT(*) FROM oracle.state")[0][0]
    place.server.query("RESTORE TABLE oracle.state INTO oracle.again")
    words = ["--table", "oracle.state", "--as", "oracle.third", "--from", backup, "--archive", options.archive, "--work", place.root]
    code, said = told("restore-table", "--dsn", place.dsn(), *words)
    if code != 0:
        place.fault(f"restore-table: {said}")
    for name in ["again", "third"]:
        found = place.server.query(f"SELECT COUNT(*) FROM oracle.{name}")[0][0]
        if found != rows:
            place.fault(f"{name} has {found} rows, not {rows}")
    code, said = told("prune", "--backups", "s3://backups/shop/", "--keep", "1", "--archive", options.archive)
    if code != 0 or "the log is needed from LSN" not in said:
        place.fault(f"prune: {code}, {said}")
    # Another folder, so that it is not refused for another reason.
    os.environ["AWS_SECRET_ACCESS_KEY"] = "another"
    words = ["serve", f"--datadir={place.root}/wrong", f"--port={options.port + 1}", "--bind-address=127.0.0.1"]
    code, said = told(*words, "--log-archive-dir=s3://backups/archive/two")
    lines = [line for line in said.splitlines() if "AWS_SECRET_ACCESS_KEY" in line]
    if code == 0 or len(lines) != 1:
        place.fault(f"a wrong secret: {code}, {said}")
    os.environ["AWS_SECRET_ACCESS_KEY"] = "secret"
    print(lines[0] if lines else "")
    objects = len(store.ask("/").decode().split("log.part-")) - 1
    with open(f"/proc/{place.server.pid()}/status", encoding="ascii") as file:
        memory = next(line for line in file if line.startswith("VmHWM")).split()[1]
    print(
        f"{sum(oracle.versions())} transactions, {files} files in {objects} objects, {options.kills} kills, {gaps} gaps, "
        f"{options.restores} restores, at most {int(memory) // 1024} MB of memory, {place.faults} wrong"
    )
    ended = place.end()
    store.process.kill()
    return ended


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--root", default="archive-objects-data")
    parser.add_argument("--port", type=int, default=7421)
    parser.add_argument("--seed", type=int, default=1)
    for name, default in [("seconds", 30), ("away", 20), ("restores", 5), ("kills", 2)]:
        parser.add_argument(f"--{name}", type=int, default=default)
    parser.add_argument("--faults", type=float, default=0.05)
    options = parser.parse_args()
    random.seed(options.seed)
    sys.exit(run(options))


main()
