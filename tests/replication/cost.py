#!/usr/bin/env python3
"""What the binary log and replicas cost: figures of servers that are started here (`servers.py` says how).

    cost.py log  --server NAME=KIND:PORT ..   durable updates (sysbench oltp_update_non_index) with a binary log by those without, by turns:
                                              transactions, flushes and bytes written for each commit
    cost.py lag  --server SOURCE=KIND:PORT --server REPLICA=KIND:PORT ..
                                              how far replicas are behind a source with writers, and how fast they catch up
    cost.py idle --server SOURCE=KIND:PORT --server REPLICA=KIND:PORT ..
                                              how often the threads of idle servers wake up; 16 clients are connected to the source

Common: --root DIRECTORY (made anew), --threads, --seconds. Needs pymysql, and sysbench but for `idle`.
"""

import argparse
import os
import re
import shutil
import statistics
import subprocess
import threading
import time

from servers import LOGGED, Server


def sysbench(server, options, script, *words):
    fixed = ["--db-driver=mysql", "--mysql-host=127.0.0.1", f"--mysql-port={server.port}", "--mysql-user=root", "--mysql-db=sbtest"]
    sizes = [f"--tables={options.tables}", f"--table-size={options.rows}"]
    return ["sysbench", script, *fixed, *sizes, *words]


def prepare(server, options):
    server.query("CREATE DATABASE IF NOT EXISTS sbtest")
    subprocess.run(sysbench(server, options, "oltp_write_only", "--threads=2", "prepare"), check=True, stdout=subprocess.DEVNULL)


def written_bytes(server):
    with open(f"/proc/{server.pid()}/io", encoding="ascii") as file:
        return int(re.search(r"^write_bytes: (\d+)", file.read(), re.M).group(1))


def flushes(server):
    """Those of the redo log and of files of data; MySQL's counter leaves out those of its binary log, which is one for each group."""
    return server.status("Innodb_os_log_fsyncs"), server.status("Innodb_data_fsyncs")


def log(options):
    servers = [Server(text, options.root) for text in options.server]
    ratios = {}
    for server in servers:
        server.more = [f"--server-id=1", "--innodb-buffer-pool-size=512M"]
        server.start()
        prepare(server, options)
        server.stop()
    for turn in range(options.turns):
        for server in servers:
            tps = {}
            kinds = [("with", LOGGED[server.kind]), ("without", ["--skip-log-bin"])]
            for name, more in kinds if turn % 2 == 0 else kinds[::-1]:
                server.more = ["--server-id=1", "--innodb-buffer-pool-size=512M", *more]
                server.start()
                words = [f"--threads={options.threads}", "--rand-type=uniform", f"--rand-seed={turn * 7 + len(tps) + 1}"]
                script = "oltp_update_non_index"
                subprocess.run(sysbench(server, options, script, *words, "--time=5", "run"), stdout=subprocess.DEVNULL)
                before, bytes_before = flushes(server), written_bytes(server)
                done = subprocess.run(
                    sysbench(server, options, script, *words, f"--time={options.seconds}", "run"), capture_output=True, text=True
                ).stdout
                found = re.search(r"transactions:\s+(\d+)\s+\(([\d.]+) per sec", done)
                count, tps[name] = int(found.group(1)), float(found.group(2))
                after = flushes(server)
                print(
                    f"turn {turn + 1}, {server.name} {name:7} binary log: {tps[name]:8.0f} tps, "
                    f"{(after[0] - before[0]) / count:.3f} flushes of the redo log and {(after[1] - before[1]) / count:.3f} of files, "
                    f"{(written_bytes(server) - bytes_before) / count:.0f} bytes written for each commit",
                    flush=True,
                )
                server.stop()
            ratios.setdefault(server.name, []).append(tps["with"] / tps["without"])
    for name, found in ratios.items():
        print(f"{name}: with by without {statistics.median(found):.2f} ({', '.join(f'{ratio:.2f}' for ratio in found)})")


class Heart(threading.Thread):
    """Writes the time into a row of the source."""

    def __init__(self, source):
        super().__init__(daemon=True)
        self.source, self.stop = source, False
        source.query("CREATE TABLE sbtest.heart (id INT PRIMARY KEY, t DOUBLE)")
        source.query("INSERT INTO sbtest.heart VALUES (1, 0)")

    def run(self):
        cursor = self.source.connect().cursor()
        while not self.stop:
            cursor.execute(f"UPDATE sbtest.heart SET t = {time.time():.6f}")
            time.sleep(0.02)


def lag_of(cursor):
    cursor.execute("SELECT t FROM sbtest.heart")
    return time.time() - cursor.fetchone()[0]


def commits_of(server):
    return int(re.findall(r"(\d+)$", server.executed())[0])


def lag(options):
    servers = [Server(text, options.root) for text in options.server]
    source, replicas = servers[0], servers[1:]
    for number, server in enumerate(servers):
        server.more = [f"--server-id={number + 1}", "--innodb-buffer-pool-size=512M", *LOGGED[server.kind]]
        server.start()
    prepare(source, options)
    heart = Heart(source)
    for replica in replicas:
        replica.follow(source)
    for replica in replicas:
        while not replica.has_reached(source.mark()):
            pass
    heart.start()
    rate = [f"--rate={options.rate}"] if options.rate else []
    words = [f"--threads={options.threads}", "--time=36000", *rate, "run"]
    work = subprocess.Popen(sysbench(source, options, "oltp_write_only", *words), stdout=subprocess.DEVNULL)
    cursors = {replica.name: replica.connect().cursor() for replica in replicas}
    time.sleep(5)
    seen = {name: [] for name in cursors}
    began, first = time.time(), commits_of(source)
    while time.time() - began < options.seconds:
        for name, cursor in cursors.items():
            seen[name].append(lag_of(cursor))
        time.sleep(0.05)
    rate_of_source = (commits_of(source) - first) / (time.time() - began)
    print(f"{source.name}: {rate_of_source:.0f} transactions per second of {options.threads} writers", flush=True)
    for name, lags in seen.items():
        lags.sort()
        print(
            f"{name}: behind by {lags[len(lags) // 2] * 1000:.0f} ms (median), {lags[int(len(lags) * 0.99)] * 1000:.0f} ms (99 of 100), "
            f"{lags[-1] * 1000:.0f} ms at most",
            flush=True,
        )
    for replica in replicas:  # one after the other: they share the machine
        replica.query("STOP REPLICA")
        time.sleep(options.stopped)
        begun, count = time.time(), commits_of(source)
        behind = lag_of(cursors[replica.name])
        at = commits_of(replica)
        replica.query("START REPLICA")
        while lag_of(cursors[replica.name]) > 0.5 and time.time() - begun < 5 * options.stopped + 60:
            time.sleep(0.1)
        seconds = time.time() - begun
        print(
            f"{replica.name}: {behind:.0f} s and {count - at} transactions behind, caught up in {seconds:.1f} s: "
            f"{(commits_of(replica) - at) / seconds:.0f} transactions per second, {behind / seconds:.1f} s of the source in each",
            flush=True,
        )
    work.terminate()
    work.wait()
    heart.stop = True
    heart.join()
    for server in servers:
        server.stop()


def switches(server):
    total = [0, 0]
    for task in os.listdir(f"/proc/{server.pid()}/task"):
        try:
            with open(f"/proc/{server.pid()}/task/{task}/status", encoding="ascii") as file:
                found = re.findall(r"^(?:non)?voluntary_ctxt_switches:\s+(\d+)", file.read(), re.M)
        except FileNotFoundError:
            continue
        total = [total[0] + int(found[0]), total[1] + int(found[1])]
    return total


def idle(options):
    servers = [Server(text, options.root) for text in options.server]
    for number, server in enumerate(servers):
        server.more = [f"--server-id={number + 1}", *LOGGED[server.kind]]
        server.start()
    for replica in servers[1:]:
        replica.follow(servers[0])
    clients = [servers[0].connect() for _ in range(16)]
    servers[0].query("CREATE DATABASE idle")
    time.sleep(10)
    before = [switches(server) for server in servers]
    time.sleep(options.seconds)
    for server, then in zip(servers, before):
        now = switches(server)
        rates = [(after - first) / options.seconds for first, after in zip(then, now)]
        print(f"{server.name}: {rates[0]:.1f} voluntary and {rates[1]:.1f} other context switches per second")
    for client in clients:
        client.close()
    for server in servers:
        server.stop()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=["log", "lag", "idle"])
    parser.add_argument("--server", action="append", required=True)
    parser.add_argument("--root", default="cost-data")
    for name, default in [("threads", 64), ("seconds", 30), ("turns", 3), ("tables", 4), ("rows", 100_000), ("rate", 0), ("stopped", 600)]:
        parser.add_argument(f"--{name}", type=int, default=default)
    options = parser.parse_args()
    shutil.rmtree(options.root, ignore_errors=True)
    os.makedirs(options.root)
    globals()[options.what](options)


main()
