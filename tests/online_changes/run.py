#!/usr/bin/env python3
"""Changes of a large table beside sysbench's clients: what do they wait, and how long does the change take?

    run.py PORT [--rows N] [--clients N] [--rate N] [--only WORD]     (needs sysbench and pymysql; root without a password at 127.0.0.1)

A table of 2,000,000 rows is changed while 64 clients run oltp_read_write on it: a column, an index, another type, another
primary key, OPTIMIZE. `--rate` bounds the clients' transactions per second; without it they take all that there is. A line for
each change: its seconds, the transactions per second before it and meanwhile, the worst second of them, and the longest
transaction in a second. In the end CHECK TABLE, and the table's checksum has to be that of a copy made by a client.
Run it on two servers, one after the other, to compare them.
"""

import argparse
import re
import statistics
import subprocess
import sys
import threading
import time

import pymysql

CHANGES = [
    ("add a column", "ALTER TABLE sbtest1 ADD COLUMN added INT NOT NULL DEFAULT 7"),
    ("add an index", "ALTER TABLE sbtest1 ADD INDEX by_pad (pad, k)"),
    ("change a type", "ALTER TABLE sbtest1 MODIFY k BIGINT NOT NULL DEFAULT 0"),
    ("change the primary key", "ALTER TABLE sbtest1 DROP PRIMARY KEY, ADD PRIMARY KEY (id, k)"),
    ("OPTIMIZE", "OPTIMIZE TABLE sbtest1"),
]
QUIET_SECONDS = 10
LINE = re.compile(r"\[ (\d+)s \].* tps: ([\d.]+) .*lat \(ms,\d+%\): ([\d.]+)")


def sysbench(options, command, **more):
    argv = [
        "sysbench", "oltp_read_write", "--db-driver=mysql", "--mysql-host=127.0.0.1", f"--mysql-port={options.port}",
        "--mysql-user=root", "--mysql-db=online_changes", "--tables=1", f"--table-size={options.rows}",
        "--rand-type=uniform", "--percentile=100", *more.pop("arguments", []), command,
    ]
    return subprocess.Popen(argv, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, **more)


class Load:
    """sysbench's clients, with what they said of each second."""

    def __init__(self, options):
        arguments = [f"--threads={options.clients}", "--time=3600", "--report-interval=1", "--mysql-ignore-errors=all"]
        if options.rate:
            arguments.append(f"--rate={options.rate}")
        self.seconds = []
        self.process = sysbench(options, "run", arguments=arguments)
        threading.Thread(target=self.read, daemon=True).start()

    def read(self):
        for line in self.process.stdout:
            if said := LINE.search(line):
                self.seconds.append((time.time(), float(said[2]), float(said[3])))

    def between(self, begin, end):
        """What is said at a moment is of the second before it."""
        return [(tps, longest) for at, tps, longest in self.seconds if begin <= at <= end]

    def stop(self):
        self.process.terminate()
        self.process.wait()


def checksum(cursor, table):
    cursor.execute(f"CHECKSUM TABLE {table}")
    return cursor.fetchall()[0][1]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("port", type=int)
    parser.add_argument("--rows", type=int, default=2_000_000)
    parser.add_argument("--clients", type=int, default=64)
    parser.add_argument("--rate", type=int, default=0)
    parser.add_argument("--only", default="", help="changes whose name has this word")
    options = parser.parse_args()
    connection = pymysql.connect(host="127.0.0.1", port=options.port, user="root", autocommit=True)
    cursor = connection.cursor()
    cursor.execute("DROP DATABASE IF EXISTS online_changes")
    cursor.execute("CREATE DATABASE online_changes")
    cursor.execute("USE online_changes")
    sysbench(options, "prepare").communicate()
    load = Load(options)
    time.sleep(QUIET_SECONDS)
    for name, statement in CHANGES:
        if options.only not in name:
            continue
        quiet = time.time()
        time.sleep(QUIET_SECONDS)
        begin = time.time()
        cursor.execute(statement)
        answer = cursor.fetchall()
        end = time.time()
        time.sleep(3)
        before, beside = load.between(quiet + 1, begin), load.between(begin, end + 1)
        median = statistics.median(tps for tps, _ in before)
        worst = min(tps for tps, _ in beside)
        print(
            f"{name}: {end - begin:.2f} s, transactions {median:.0f} before, {statistics.median(t for t, _ in beside):.0f} "
            f"meanwhile, worst {worst:.0f} ({worst / median:.2f}), longest {max(m for _, m in before):.0f} ms before, "
            f"{max(m for _, m in beside):.0f} ms meanwhile{' ' + str(answer) if answer else ''}",
            flush=True,
        )
    load.stop()
    cursor.execute("CHECK TABLE sbtest1")
    checked = cursor.fetchall()[-1][-1]
    cursor.execute("CREATE TABLE copied LIKE sbtest1")
    cursor.execute("INSERT INTO copied SELECT * FROM sbtest1")
    is_same = checksum(cursor, "sbtest1") == checksum(cursor, "copied")
    print(f"check: {checked}; the checksum of a copy is {'the same' if is_same else 'ANOTHER'}")
    cursor.execute("DROP DATABASE online_changes")
    sys.exit(0 if is_same and checked == "OK" else 1)


main()
