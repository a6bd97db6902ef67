#!/usr/bin/env python3
"""Backups and restores of a server under load, against what its writers know of their commits (`oracle.py`).

    run.py restores   [--restores 50]   restores to random times and LSNs, while increments are made and the server is killed
    run.py increments [--count 30]      a full backup file and so many increments in a row, restored
    run.py kills      [--kills 30]      SIGKILL of the backup or of the server in the midst of backups, then the chain restored
    run.py flips      [--flips 30]      one bit of a backup file is another one: verify and restore have to notice
    run.py load       [--rows N ..]     what a backup costs sysbench's oltp_read_write: before, during, and restored

Common options: --root DIRECTORY (made; what is made in it is removed), --port PORT (and the one above), --seed N. The server is
`$EVENKEEL_PROGRAM` (target/release/evenkeel). Needs pymysql; `load` needs sysbench. Exit status 1: something was wrong.
"""

import argparse
import datetime
import os
import random
import re
import shutil
import signal
import statistics
import subprocess
import sys
import time

from place import Place, begun, program, told


def restores(options):
    place, oracle = begun(options, "--innodb-redo-log-capacity=32M")
    place.back_up()
    ends = [time.time()]  # of the backups: a moment has to be behind its backup's end
    kills = 0
    for _ in range(6):
        time.sleep(5)
        if random.random() < 0.5:
            place.server.kill()
            place.server.start()
            kills += 1
        place.back_up()
        ends.append(time.time())
    time.sleep(5)
    oracle.stop()
    time.sleep(2)  # the archive is a second behind
    last = time.time() - 3
    lsns = sorted(at[1] for writer in oracle.writers for at in writer.acknowledged.values())
    times = {at[1]: at[0] for writer in oracle.writers for at in writer.acknowledged.values()}
    print(f"{sum(oracle.versions())} transactions, {len(place.chain)} backups, {kills} kills of the server", flush=True)
    for number in range(options.restores):
        if number % 2:
            moment, which = random.uniform(ends[0] + 0.01, last), 0
            until, when = datetime.datetime.fromtimestamp(moment).strftime("%Y-%m-%d %H:%M:%S.%f"), moment
        else:
            at = random.choice([lsn for lsn in lsns if times[lsn] > ends[0] + 0.01])
            moment, which, when = at + random.choice([0, 0, 1, 100]), 1, times[at]
            until = str(moment)
        usable = [index for index, end in enumerate(ends) if end + 0.01 < when]
        chain = place.chain[: 1 + random.choice(usable)]
        words = ["--archive", f"{place.root}/archive", "--until", until]
        place.check(oracle, f"as of {until} from {len(chain)} files", chain, *words, moment=moment, which=which)
    print(f"{options.restores} restores to random times and LSNs, {place.faults} wrong")
    return place.end()


def increments(options):
    place, oracle = begun(options)
    place.back_up()
    began = time.time()
    for _ in range(options.count):
        least = oracle.versions()
        time.sleep(0.3)
        place.back_up()
    seconds = time.time() - began
    oracle.stop()
    began = time.time()
    place.check(oracle, "the whole chain", place.chain, least=least)
    size = sum(os.path.getsize(path) for path in place.chain[1:])
    print(
        f"{options.count} increments in {seconds:.0f} s, {size / 1e6:.1f} MB; restored, verified and started in "
        f"{time.time() - began:.1f} s, {place.faults} wrong"
    )
    return place.end()


def kills(options):
    place, oracle = begun(options)
    place.server.query("CREATE TABLE oracle.ballast (id INT AUTO_INCREMENT PRIMARY KEY, filler VARCHAR(1000))")
    place.server.query("INSERT INTO oracle.ballast (filler) VALUES (RPAD('x', 1000, UUID()))")
    for _ in range(16):
        place.server.query("INSERT INTO oracle.ballast (filler) SELECT RPAD(UUID(), 1000, UUID()) FROM oracle.ballast")
    place.back_up()
    ended = {"backup": 0, "server": 0}
    whole = 0
    length, least = 1.0, oracle.versions()
    for number in range(options.kills):
        path, words = place.backup_words()
        if number % 3 == 0:
            words = [word for word in words if word not in ("--incremental-from", place.chain[-1])]
        versions = oracle.versions()
        began = time.time()
        backup = subprocess.Popen([program(), *words], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
        time.sleep(random.uniform(0, 1.2 * length if number % 3 == 0 else 0.4))
        if number % 2:
            ended["backup"] += backup.poll() is None
            backup.kill()
        else:
            ended["server"] += 1
            place.server.kill()
            place.server.start()
        code, said = backup.wait(), backup.stderr.read()
        if code == 0 and number % 3 == 0:
            length = min(length, max(0.2, time.time() - began))
        if (code == 0) != os.path.exists(path) and code != -signal.SIGKILL:
            place.fault(f"the backup ended with {code} ({said}), and its file is there: {os.path.exists(path)}")
        if os.path.exists(path):
            code, said = told("verify", path)
            if code != 0:
                place.fault(f"{path} has its name and is damaged: {said}")
            whole += 1
            place.chain = [path] if number % 3 == 0 else [*place.chain, path]
            least = versions
    place.back_up()
    least = oracle.versions() if place.faults else least
    oracle.stop()
    place.check(oracle, "the last chain", place.chain, least=least)
    place.check(oracle, "with the archive", place.chain, "--archive", f"{place.root}/archive", least=least)
    left = [name for name in os.listdir(place.root) if name.endswith((".new", ".part", ".unfinished"))]
    print(
        f"{ended['backup']} kills of the backup and {ended['server']} of the server in its midst, {whole} backups were whole, "
        f"{len(left)} unfinished files left, {place.faults} wrong"
    )
    return place.end()


def flips(options):
    place, oracle = begun(options)
    time.sleep(5)
    place.back_up()
    oracle.stop()
    path, changed = place.chain[0], f"{place.root}/changed.ekb"
    with open(path, "rb") as file:
        whole = file.read()
    for _ in range(options.flips):
        bit = random.randrange(len(whole) * 8)
        bytes_of = bytearray(whole)
        bytes_of[bit // 8] ^= 1 << (bit % 8)
        with open(changed, "wb") as file:
            file.write(bytes_of)
        code, said = told("verify", changed)
        if code != 1 or "changed.ekb" not in said:
            place.fault(f"bit {bit} of {len(whole) * 8} is another one, and verify ends with {code}: {said}")
        shutil.rmtree(f"{place.root}/to", ignore_errors=True)
        code, said = told("restore", "--from", changed, "--to", f"{place.root}/to")
        if code == 0:
            place.fault(f"bit {bit} is another one, and restore makes a database of it")
    print(f"{options.flips} flipped bits in a file of {len(whole)} bytes, {place.faults} not noticed; the last: {said.strip()}")
    return place.end()


def sysbench(options, *words, **more):
    fixed = ["--db-driver=mysql", "--mysql-host=127.0.0.1", f"--mysql-port={options.port}", "--mysql-user=root", "--mysql-db=sbtest"]
    sizes = [f"--tables={options.tables}", f"--table-size={options.rows}"]
    return subprocess.Popen(["sysbench", "oltp_read_write", *fixed, *sizes, *words], stdout=subprocess.PIPE, text=True, **more)


def checksums(server, tables):
    return [server.query(f"CHECKSUM TABLE sbtest.sbtest{number}")[0][1] for number in range(1, tables + 1)]


def load(options):
    place = Place(options, [f"--innodb-buffer-pool-size={options.pool}"])
    place.server.query("CREATE DATABASE sbtest")
    sysbench(options, "--threads=2", "prepare").wait()
    size = int(subprocess.run(["du", "-sm", place.server.directory], capture_output=True, text=True).stdout.split()[0])
    rate = [f"--rate={options.rate}"] if options.rate else []
    figures, took = [], []
    for turn in range(options.turns):
        spent = [f"--threads={options.threads}", "--report-interval=1", f"--time={2 * options.seconds + 600}", *rate]
        work = sysbench(options, *spent, "run")
        lines, since = [], time.time()
        moments = {}
        backup = None
        for line in work.stdout:
            found = re.search(r"tps: ([\d.]+)", line)
            if not found:
                continue
            lines.append(float(found.group(1)))
            if backup is None and len(lines) == options.warm + options.seconds:
                path, words = place.backup_words()
                moments["begun"] = (len(lines), time.time())
                backup = subprocess.Popen([program(), *words, *(["--max-rate", options.max_rate] if options.max_rate else [])])
            if backup and "ended" not in moments and backup.poll() is not None:
                moments["ended"] = (len(lines), time.time())
                if backup.returncode != 0:
                    place.fault("the backup failed")
                break
        work.send_signal(signal.SIGTERM)
        work.wait()
        before = lines[options.warm : moments["begun"][0]]
        during = lines[moments["begun"][0] : moments["ended"][0]]
        seconds = moments["ended"][1] - moments["begun"][1]
        figures.append(statistics.mean(during) / statistics.mean(before))
        took.append(seconds)
        print(
            f"turn {turn + 1}: before {statistics.mean(before):.0f}/s (worst second {min(before):.0f}), during the backup "
            f"{statistics.mean(during):.0f}/s (worst {min(during):.0f}), ratio {figures[-1]:.2f}; {size} MB in {seconds:.0f} s, "
            f"file of {os.path.getsize(path) / 1e6:.0f} MB",
            flush=True,
        )
        if turn + 1 < options.turns:
            os.remove(path)
    place.chain = []
    path, words = place.backup_words()
    code, said = told(*words)  # at rest, to compare
    expected = checksums(place.server, options.tables)
    began = time.time()
    restored = place.restored([path])
    if restored:
        seconds = time.time() - began
        if checksums(restored, options.tables) != expected:
            place.fault("checksums of the restored tables differ")
        restored.kill()
        print(f"restored, verified and started in {seconds:.0f} s; checksums of {options.tables} tables compared")
    print(f"median ratio {statistics.median(figures):.2f}, {place.faults} wrong")
    return place.end()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=["restores", "increments", "kills", "flips", "load"])
    parser.add_argument("--root", default="backup-data")
    parser.add_argument("--port", type=int, default=7421)
    parser.add_argument("--seed", type=int, default=1)
    for name, default in [("restores", 50), ("count", 30), ("kills", 30), ("flips", 30)]:
        parser.add_argument(f"--{name}", type=int, default=default)
    of_load = parser.add_argument_group("load")
    for name, default in [("tables", 4), ("rows", 1_000_000), ("threads", 16), ("seconds", 30), ("warm", 10), ("turns", 1), ("rate", 0)]:
        of_load.add_argument(f"--{name}", type=int, default=default)
    of_load.add_argument("--pool", default="256M")
    of_load.add_argument("--max-rate")
    options = parser.parse_args()
    random.seed(options.seed)
    sys.exit(globals()[options.what](options))


main()
