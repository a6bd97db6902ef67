#!/usr/bin/env python3
"""Programs of others that follow a server's binary log under load, and whether what they make of it is right.

    consumers.py canal  --server NAME=KIND:PORT   a consumer made with go-mysql's canal (canal/main.go) reads all changes of a run
                                                  exactly once and in order, and has the tables' rows in the end
    consumers.py gh-ost --server NAME=KIND:PORT   gh-ost changes a table while clients write to it; a mirror that is written in the
                                                  same transactions has the same rows in the end

Common: --root DIRECTORY (made anew), --clients, --rows, --rate (transactions per second of all clients), --seconds (of canal), --seed.
`$GH_OST` is gh-ost's program, built of its repository (`go build -mod=vendor ./go/cmd/gh-ost`: all that it needs is in there);
`$GO_MYSQL` a checkout of github.com/go-mysql-org/go-mysql: the module proxy may not serve either module. `servers.py` says how
servers are started. Exit status 1: something was wrong.
"""

import argparse
import json
import os
import random
import shutil
import subprocess
import sys
import threading
import time

import pymysql

from servers import LOGGED, LOST, Server

HERE = os.path.dirname(os.path.abspath(__file__))
COLUMNS = """id INT AUTO_INCREMENT PRIMARY KEY, k INT NOT NULL, price DECIMAL(12,3), name VARCHAR(60), body TEXT, raw VARBINARY(40),
    made DATETIME(6), stamp TIMESTAMP NULL, part DOUBLE, kind ENUM('a','b','ccc'), marks SET('x','y','z'), day DATE, big BIGINT UNSIGNED,
    KEY (k)"""
NAMES = "k, price, name, body, raw, made, stamp, part, kind, marks, day, big"
# A transaction that waits for a lock or for the moment in which gh-ost exchanges the tables.
AGAIN = (1205, 1213, 1412, 1146, 1615)


class Client(threading.Thread):
    """Transactions of a few changes each at a bounded rate; `turn` counts them. The tables in `same` get the same changes."""

    def __init__(self, server, seed, until, options, same):
        super().__init__(daemon=True)
        self.server, self.random, self.until, self.same = server, random.Random(seed), until, same
        self.pause = options.clients / options.rate
        self.rows, self.done, self.again, self.fault = options.rows, 0, 0, None

    def run(self):
        connection = None
        while not self.until():
            try:
                connection = connection or self.server.connect("consumed")
                self.transaction(connection.cursor())
                self.done += 1
            except pymysql.err.MySQLError as error:
                self.again += 1
                if error.args[0] not in AGAIN + LOST:
                    self.fault = str(error)
                    return
                try:
                    connection.rollback()
                except pymysql.err.MySQLError:
                    connection = None
            time.sleep(self.pause * self.random.uniform(0.5, 1.5))

    def transaction(self, cursor):
        cursor.execute("BEGIN")
        for _ in range(self.random.choice([1, 1, 2, 5])):
            self.change(cursor)
        cursor.execute("UPDATE turn SET n = n + 1")
        cursor.execute("COMMIT")

    def change(self, cursor):
        r = self.random
        number, kind = r.randrange(1, self.rows * 3), r.randrange(10)
        if kind < 4:
            id_of = f"{number}"
            texts = [f"INSERT IGNORE INTO {{}} (id, {NAMES}) VALUES ({id_of}, {self.values()})"]
        elif kind < 8:
            texts = [f"UPDATE {{}} SET k = k + 1, body = {self.letters(300)}, big = {r.getrandbits(64)} WHERE id = {number}"]
        else:
            texts = [f"DELETE FROM {{}} WHERE id = {number}"]
        for text in texts:
            for table in self.same:
                cursor.execute(text.format(table))

    def letters(self, longest):
        return "'" + "".join(self.random.choice("abcdÄÖ漢xyz0 ") for _ in range(self.random.randrange(longest))) + "'"

    def values(self):
        r = self.random
        day = f"20{r.randrange(10, 37)}-{r.randrange(1, 13):02}-{r.randrange(1, 29):02}"
        moment = f"'{day} {r.randrange(4, 24):02}:{r.randrange(60):02}:{r.randrange(60):02}"
        raw = "x'" + bytes(r.getrandbits(8) for _ in range(r.randrange(40))).hex() + "'"
        return (
            f"{r.randrange(1000)}, {r.randrange(10**8)}.{r.randrange(1000):03}, {self.letters(60)}, {self.letters(200)}, {raw}, "
            f"{moment}.{r.randrange(10**6):06}', {moment}', {r.random()!r}, '{r.choice(['a', 'b', 'ccc'])}', "
            f"'{r.choice(['', 'x', 'x,z', 'x,y,z'])}', '{day}', {r.getrandbits(64)}"
        )


def begun(options, tables):
    """A server with empty tables, and rows in them."""
    server = Server(options.server, options.root, ["--server-id=1"])
    server.more += LOGGED[server.kind]
    server.wipe()
    server.start()
    server.query("CREATE DATABASE consumed CHARACTER SET utf8mb4")
    place = server.position()
    for table in tables:
        server.query(f"CREATE TABLE {table} ({COLUMNS})", "consumed")
    server.query("CREATE TABLE turn (id INT PRIMARY KEY, n BIGINT NOT NULL)", "consumed")
    server.query("INSERT INTO turn VALUES (1, 0)", "consumed")
    maker = Client(server, options.seed, None, options, tables)
    cursor = server.connect("consumed").cursor()
    for number in range(0, options.rows, 500):
        rows = ", ".join(f"({id_of}, {maker.values()})" for id_of in range(number + 1, min(number + 500, options.rows) + 1))
        for table in tables:
            cursor.execute(f"INSERT INTO {table} (id, {NAMES}) VALUES {rows}")
    return server, place


def loaded(server, options, until, tables):
    clients = [Client(server, options.seed * 1000 + number, until, options, tables) for number in range(options.clients)]
    for client in clients:
        client.start()
    return clients


def faults_of(clients):
    return [f"a client ended: {client.fault}" for client in clients if client.fault]


# Canal.


def built_consumer(root):
    """Of the module proxy, or of the checkout that `$GO_MYSQL` names."""
    folder = os.path.join(root, "canal")
    os.makedirs(folder)
    shutil.copy(os.path.join(HERE, "canal", "main.go"), folder)
    checkout = os.environ.get("GO_MYSQL")
    go = lambda *words: subprocess.run(["go", *words], cwd=folder, check=True)
    go("mod", "init", "consumer")
    if checkout:
        go("mod", "edit", f"-replace=github.com/go-mysql-org/go-mysql={os.path.abspath(checkout)}")
    go("mod", "tidy")
    go("build", "-o", "consumer", ".")
    return os.path.join(folder, "consumer")


def canal(options):
    program = built_consumer(options.root)
    server, place = begun(options, ["one", "two"])
    words = [program, f"127.0.0.1:{server.port}", "consumed", place[0], str(place[1])]
    consumer = subprocess.Popen(words, stdout=subprocess.PIPE, stderr=open(f"{options.root}/consumer.log", "wb"))
    end = time.time() + options.seconds
    clients = loaded(server, options, lambda: time.time() > end, ["one", "two"])
    for client in clients:
        client.join()
    faults = faults_of(clients)
    last = server.query("SELECT n FROM consumed.turn")[0][0]
    server.query("DELETE FROM consumed.turn")
    began = time.time()
    output, _ = consumer.communicate(timeout=600)
    if consumer.returncode != 0:
        raise SystemExit(f"the consumer failed: {options.root}/consumer.log")
    said = json.loads(output)
    faults += said["faults"] or []
    if said["turn"] != last:
        faults.append(f"the consumer has read transaction {said['turn']} of {last}")
    for table in ["one", "two"]:
        rows = server.query(f"SELECT id, k, big, body FROM {table}", "consumed")
        kept = [json.loads(row) for row in said["rows"][table].values()]
        if sorted((row[0], row[1], row[12], row[4]) for row in kept) != sorted(rows):
            faults.append(f"{table}: {len(kept)} rows of the consumer, {len(rows)} of the table, and they differ")
    events = ", ".join(f"{count} {name}" for name, count in sorted(said["events"].items()))
    print(
        f"{sum(client.done for client in clients)} transactions of {len(clients)} clients in {options.seconds} s, {last} counted; "
        f"the consumer read {events}, the last of it after {time.time() - began:.1f} s; {len(faults)} wrong"
    )
    return server, faults


# gh-ost.

MIGRATION = "ADD COLUMN added INT NOT NULL DEFAULT 7, ADD KEY by_day (day, k), MODIFY k BIGINT NOT NULL, MODIFY name VARCHAR(200)"


def gh_ost(options):
    program = os.environ.get("GH_OST", "gh-ost")
    server, _ = begun(options, ["one", "mirror"])
    is_over = threading.Event()
    clients = loaded(server, options, is_over.is_set, ["one", "mirror"])
    began = time.time()
    place = ["--host=127.0.0.1", f"--port={server.port}", "--user=root", "--password=", "--database=consumed", "--table=one"]
    how = ["--allow-on-master", "--chunk-size=200", "--ok-to-drop-table", "--cut-over-lock-timeout-seconds=10", "--default-retries=120"]
    words = [program, *place, *how, f"--alter={MIGRATION}", "--execute", f"--serve-socket-file={options.root}/gh-ost.sock"]
    with open(os.path.join(options.root, "gh-ost.log"), "w", encoding="utf-8") as log:
        done = subprocess.run(words, stdout=log, stderr=log, timeout=1800)
    seconds = time.time() - began
    time.sleep(3)
    is_over.set()
    for client in clients:
        client.join()
    faults = faults_of(clients)
    if done.returncode != 0:
        faults.append(f"gh-ost ended with {done.returncode}: {options.root}/gh-ost.log")
    else:
        added = server.query("SELECT COUNT(*) FROM one WHERE added <> 7", "consumed")[0][0]
        rows = [set(map(repr, server.query(f"SELECT id, {NAMES} FROM {table}", "consumed"))) for table in ["one", "mirror"]]
        if added or rows[0] != rows[1]:
            differ = sorted(rows[0] ^ rows[1])[:6]
            faults.append(f"{len(rows[0])} rows of the changed table, {len(rows[1])} of its mirror, and they differ: {differ}")
        print(server.query("SHOW CREATE TABLE one", "consumed")[0][1])
        left = [name for (name,) in server.query("SHOW TABLES", "consumed") if name.startswith("_")]
        if left:
            faults.append(f"tables are left: {left}")
    count = server.query("SELECT COUNT(*) FROM mirror", "consumed")[0][0]
    print(
        f"gh-ost took {seconds:.0f} s; {sum(client.done for client in clients)} transactions of {len(clients)} clients meanwhile, "
        f"{sum(client.again for client in clients)} tried again; {count} rows in the end; {len(faults)} wrong"
    )
    return server, faults


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=["canal", "gh-ost"])
    parser.add_argument("--server", required=True)
    parser.add_argument("--root", default="consumer-data")
    for name, default in [("clients", 6), ("rows", 20_000), ("rate", 200), ("seconds", 120), ("seed", 1)]:
        parser.add_argument(f"--{name}", type=int, default=default)
    options = parser.parse_args()
    options.root = os.path.abspath(options.root)
    shutil.rmtree(options.root, ignore_errors=True)
    os.makedirs(options.root)
    server, faults = {"canal": canal, "gh-ost": gh_ost}[options.what](options)
    server.stop()
    for fault in faults:
        print(f"WRONG: {fault}")
    sys.exit(bool(faults))


main()
