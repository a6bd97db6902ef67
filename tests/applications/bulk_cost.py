#!/usr/bin/env python3
"""Processor time and memory of a server for work on many rows: what outgrows memory, and what is loaded in bulk.

    bulk_cost.py spill|load PORT PID [ROWS]      (needs pymysql; root without a password at 127.0.0.1; PID is the server's)

`spill`: a table of ROWS rows (1,000,000 by default) of 200 bytes is sorted, grouped, joined by a hash table, made
distinct, united, numbered by a window and copied. `load`: CREATE INDEX over 2 x ROWS, INSERT .. SELECT and LOAD DATA of ROWS
with three indexes, INSERT of 1,000 rows each, and the sizes of what they leave. Each line: seconds of the server's processor
time, of the clock, and the most memory it had meanwhile, in MB. Run it on two servers, one after the other, to compare them.
LOAD DATA reads a file that it writes to a temporary directory, so the server has to allow that (secure_file_priv).
"""

import os
import sys
import tempfile
import time

import pymysql
import pymysql.cursors

SPILL = [
    ("sort", "SELECT k, pad FROM wide ORDER BY k, id"),
    ("group", "SELECT COUNT(*), SUM(c) FROM (SELECT g, COUNT(*) c FROM wide GROUP BY g) x"),
    ("hash join", "SELECT COUNT(*), SUM(a.k + b.g) FROM wide a JOIN wide2 b ON a.k = b.k"),
    ("distinct", "SELECT COUNT(*) FROM (SELECT DISTINCT k, pad FROM wide) x"),
    ("union", "SELECT COUNT(*) FROM (SELECT g, pad FROM wide UNION SELECT g, pad FROM wide2) x"),
    (
        "window",
        "SELECT COUNT(*) FROM (SELECT pad, ROW_NUMBER() OVER (PARTITION BY k % 1000 ORDER BY g) r FROM wide) x WHERE r = 1",
    ),
    ("create table as", "CREATE TABLE copied AS SELECT * FROM wide"),
]
THREE_INDEXES = "(id INT PRIMARY KEY, k INT, g INT, name VARCHAR(30), pad VARCHAR(100), KEY (k), KEY (g, k), KEY (name))"


class Measured:
    """Runs statements and prints what they cost."""

    def __init__(self, port, pid):
        connection = pymysql.connect(
            host="127.0.0.1", port=port, user="root", autocommit=True, read_timeout=3600,
            cursorclass=pymysql.cursors.SSCursor,
        )
        self.cursor, self.pid = connection.cursor(), pid

    def run(self, statement):
        self.cursor.execute(statement)
        rows, last = 0, None
        while batch := self.cursor.fetchmany(10_000):
            rows, last = rows + len(batch), batch[-1]
        return last if rows == 1 else (rows,)

    def cost(self, name, *statements):
        with open(f"/proc/{self.pid}/clear_refs", "w") as refs:
            refs.write("5")
        before, start = processor_time(self.pid), time.time()
        try:
            for statement in statements:
                answer = self.run(statement)
        except pymysql.err.MySQLError as error:
            answer = error.args
        taken, passed = processor_time(self.pid) - before, time.time() - start
        print(f"{name}: processor {taken:.2f} clock {passed:.2f} memory {peak_mb(self.pid)} answer {answer}", flush=True)


def processor_time(pid):
    with open(f"/proc/{pid}/stat") as stat:
        fields = stat.read().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def peak_mb(pid):
    with open(f"/proc/{pid}/status") as status:
        return next(int(line.split()[1]) // 1024 for line in status if line.startswith("VmHWM"))


def prepare(measured):
    for statement in ["DROP DATABASE IF EXISTS bulk_cost", "CREATE DATABASE bulk_cost", "USE bulk_cost"]:
        measured.run(statement)
    measured.run("CREATE TABLE digits (n INT PRIMARY KEY)")
    measured.run("INSERT INTO digits VALUES (0), (1), (2), (3), (4), (5), (6), (7), (8), (9)")
    measured.run("CREATE TABLE thousand (n INT PRIMARY KEY)")
    measured.run("INSERT INTO thousand SELECT a.n + 10 * b.n + 100 * c.n FROM digits a, digits b, digits c")


def numbers(first, last):
    """A query of the numbers from `first` up to `last`, which are of one million and whole thousands."""
    million, low, high = first // 1_000_000, first % 1_000_000 // 1000, (last - 1) % 1_000_000 // 1000
    return (
        f"SELECT {million * 1_000_000} + a.n * 1000 + b.n i FROM thousand a, thousand b "
        f"WHERE a.n BETWEEN {low} AND {high}"
    )


def spill(measured, rows):
    prepare(measured)
    for table, factor in [("wide", 7919), ("wide2", 104729)]:
        measured.run(f"CREATE TABLE {table} (id INT PRIMARY KEY, k INT, g INT, pad CHAR(180))")
        for first in range(0, rows, 100_000):
            part = numbers(first, min(first + 100_000, rows))
            measured.run(
                f"INSERT INTO {table} SELECT i, (i * {factor}) % {rows}, (i * 31) % {rows}, "
                f"CONCAT(SHA2(i, 224), REPEAT('x', 116)) FROM ({part}) n"
            )
    measured.run("ANALYZE TABLE wide, wide2")
    for name, statement in SPILL:
        measured.cost(name, statement)
    measured.run("DROP DATABASE bulk_cost")


def load(measured, rows):
    prepare(measured)
    values = "i, (i * 7919) % 1000003, (i * 31) % 1000, CONCAT('name ', (i * 104729) % 1000003), CONCAT(LEFT(SHA2(i, 224), 40), ' ', i)"
    measured.run("CREATE TABLE plain (id INT PRIMARY KEY, k INT, g INT, name VARCHAR(30), pad VARCHAR(100))")
    for first in range(0, 2 * rows, 100_000):
        part = numbers(first, min(first + 100_000, 2 * rows))
        measured.run(f"INSERT INTO plain SELECT {values} FROM ({part}) n")
    measured.cost(f"CREATE INDEX of numbers on {2 * rows}", "CREATE INDEX k ON plain (k)")
    measured.cost(f"CREATE INDEX of texts on {2 * rows}", "CREATE INDEX name ON plain (name)")
    measured.run(f"CREATE TABLE chosen {THREE_INDEXES}")
    source = f"SELECT id, k, g, name, pad FROM plain WHERE id < {rows}"
    measured.cost(f"INSERT .. SELECT of {rows}", f"INSERT INTO chosen {source}")
    with tempfile.TemporaryDirectory() as directory:
        os.chmod(directory, 0o755)
        path = os.path.join(directory, "rows.txt")
        with open(path, "w") as file:
            for i in range(rows):
                file.write(f"{i}\t{i * 7919 % 1000003}\t{i * 31 % 1000}\tname {i * 104729 % 1000003}\t{i:040x} {i}\n")
        os.chmod(path, 0o644)
        measured.run(f"CREATE TABLE loaded {THREE_INDEXES}")
        measured.cost(f"LOAD DATA of {rows}", f"LOAD DATA INFILE '{path}' INTO TABLE loaded")
    measured.run(f"CREATE TABLE inserted {THREE_INDEXES}")
    inserts = []
    for first in range(0, rows // 5, 1000):
        row = "({0}, {1}, {2}, 'name {3}', '{0:040x} {0}')"
        texts = (row.format(i, i * 7919 % 1000003, i * 31 % 1000, i * 104729 % 1000003) for i in range(first, first + 1000))
        inserts.append("INSERT INTO inserted VALUES " + ",".join(texts))
    measured.cost(f"INSERT of 1,000 rows each, {rows // 5}", *inserts)
    measured.run("ANALYZE TABLE plain, chosen, loaded, inserted")
    measured.cursor.execute(
        "SELECT table_name, data_length, index_length FROM information_schema.tables "
        "WHERE table_schema = 'bulk_cost' AND table_name IN ('plain', 'chosen', 'loaded', 'inserted') ORDER BY 1"
    )
    for name, data, index in measured.cursor.fetchall():
        print(f"{name}: rows {data >> 20} MB, indexes {index >> 20} MB")
    measured.run("DROP DATABASE bulk_cost")


if __name__ == "__main__":
    size = int(sys.argv[4]) if len(sys.argv) > 4 else 1_000_000
    {"spill": spill, "load": load}[sys.argv[1]](Measured(int(sys.argv[2]), int(sys.argv[3])), size)
