"""Writers that know what they have committed and when, and whether a database is one that they have left.

Each writer has rows of its own, and a version that each of its transactions adds one to. What a transaction changes follows from
the writer and the version alone, so the rows of any version can be computed. Used by `run.py`.
"""

import os
import random
import sys
import threading
import time

import pymysql

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "replication"))
from servers import LOST  # noqa: E402

KEYS = 300
# Clocks and commits are told apart by milliseconds.
SLACK = 0.003
TABLES = [
    "CREATE DATABASE oracle",
    "CREATE TABLE oracle.versions (writer INT PRIMARY KEY, version INT NOT NULL)",
    "CREATE TABLE oracle.state (writer INT, k INT, n INT, filler VARCHAR(400), PRIMARY KEY (writer, k), KEY (n))",
]


def changes(writer, version):
    """Keys and what they become; None is removed."""
    numbers = random.Random(writer * 1_000_003 + version)
    return [
        (numbers.randrange(KEYS), None if numbers.random() < 0.2 else numbers.randrange(10**6)) for _ in range(numbers.randrange(1, 6))
    ]


def rows_at(writer, version):
    rows = {}
    for at in range(1, version + 1):
        for key, number in changes(writer, at):
            rows.pop(key, None)
            if number is not None:
                rows[key] = number
    return rows


class Writer(threading.Thread):
    def __init__(self, server, number, pause):
        super().__init__(daemon=True)
        self.server, self.number, self.pause, self.stop = server, number, pause, False
        # version: (seconds, LSN) before it was begun; the same behind its acknowledgement
        self.begun, self.acknowledged = {}, {}

    def lsn(self, cursor):
        cursor.execute("SHOW GLOBAL STATUS LIKE 'Innodb_redo_log_current_lsn'")
        return int(cursor.fetchone()[1])

    def run(self):
        connection = None
        while not self.stop:
            try:
                if connection is None:
                    connection = self.server.connect()
                self.one(connection.cursor())
            except pymysql.err.MySQLError as error:
                if error.args[0] not in LOST and not isinstance(error, pymysql.err.InterfaceError):
                    raise
                connection = None
                time.sleep(0.1)
            time.sleep(self.pause)

    def one(self, cursor):
        cursor.execute(f"SELECT version FROM oracle.versions WHERE writer = {self.number}")
        version = cursor.fetchone()[0] + 1
        before = (time.time(), self.lsn(cursor))
        self.begun.setdefault(version, before)
        cursor.execute("BEGIN")
        for key, number in changes(self.number, version):
            cursor.execute(f"DELETE FROM oracle.state WHERE writer = {self.number} AND k = {key}")
            if number is not None:
                cursor.execute(f"INSERT INTO oracle.state VALUES ({self.number}, {key}, {number}, REPEAT('{number} ', 40))")
        cursor.execute(f"UPDATE oracle.versions SET version = version + 1 WHERE writer = {self.number}")
        cursor.execute("COMMIT")
        self.acknowledged[version] = (time.time(), self.lsn(cursor))

    def least(self, moment, which):
        slack = SLACK if which == 0 else 0
        return max((version for version, at in self.acknowledged.items() if at[which] <= moment - slack), default=0)

    def most(self, moment, which):
        slack = SLACK if which == 0 else 0
        return max((version for version, at in self.begun.items() if at[which] <= moment + slack), default=0)


class Oracle:
    def __init__(self, server, count=4, pause=0.01):
        for text in TABLES:
            server.query(text)
        server.query("INSERT INTO oracle.versions VALUES " + ", ".join(f"({number}, 0)" for number in range(count)))
        self.writers = [Writer(server, number, pause) for number in range(count)]
        for writer in self.writers:
            writer.start()

    def stop(self):
        for writer in self.writers:
            writer.stop = True
        for writer in self.writers:
            writer.join()

    def versions(self):
        return [max(writer.acknowledged, default=0) for writer in self.writers]

    def faults(self, server, moment=None, which=0, least=None):
        """What is wrong with a database as of a moment (a time, or with `which` 1 an LSN), or that has at least `least`."""
        found = []
        versions = dict(server.query("SELECT writer, version FROM oracle.versions"))
        for writer in self.writers:
            version = versions.get(writer.number, 0)
            low = least[writer.number] if least else writer.least(moment, which)
            high = max(writer.begun, default=0) if moment is None else writer.most(moment, which)
            if not low <= version <= high:
                found.append(f"writer {writer.number}: version {version} is not in {low}..{high}")
            rows = dict(server.query(f"SELECT k, n FROM oracle.state WHERE writer = {writer.number}"))
            if rows != rows_at(writer.number, version):
                found.append(f"writer {writer.number}: the rows are not those of version {version}")
        return found
