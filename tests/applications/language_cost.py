#!/usr/bin/env python3
"""Processor time of two servers for window functions, recursive queries, JSON_TABLE and LOAD DATA.

    language_cost.py prepare|measure|finish NAME=PORT:PID NAME=PORT:PID [PART..]

(needs pymysql; root without a password at 127.0.0.1; PID is the server's; LOAD DATA reads a file of the client)

`prepare` fills the tables, `measure` asks the servers by turns and prints the median of three runs of each, read from
/proc/PID/stat, and the first's part of the second's, `finish` drops the tables. PART chooses statements by a word of their
names. Both servers have to give the same answer.
"""

import os
import statistics
import sys
import tempfile

import pymysql

ROWS = 1_000_000
RUNS = 3
NUMBERS = f"WITH RECURSIVE r(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM r WHERE n < {ROWS}) "
SETUP = [
    "DROP DATABASE IF EXISTS language_cost",
    "CREATE DATABASE language_cost",
    "USE language_cost",
    f"SET SESSION cte_max_recursion_depth = {2 * ROWS}",
    "CREATE TABLE w (id INT PRIMARY KEY, g INT, v INT, d DECIMAL(10, 2), s VARCHAR(20))",
    f"INSERT INTO w {NUMBERS} SELECT n, n % 1000, n * 7919 % 100003, n / 100, CONCAT('name', n % 5000) FROM r",
    "ANALYZE TABLE w",
    "CREATE TABLE j (id INT PRIMARY KEY, doc JSON)",
    "SET SESSION group_concat_max_len = 1 << 30",
    # 20 documents of 20,000 objects, about a megabyte each.
    "INSERT INTO j SELECT d.n, (SELECT CAST(CONCAT('[', GROUP_CONCAT(CONCAT('{\"id\": ', id, ', \"name\": \"', s, "
    "'\", \"price\": ', d, ', \"tags\": [', g, ', ', v, ']}')), ']') AS JSON) FROM w WHERE id <= 20000) "
    "FROM (WITH RECURSIVE q(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM q WHERE n < 20) SELECT n FROM q) d",
    "CREATE TABLE l (id INT PRIMARY KEY, a INT, b VARCHAR(20), c DATETIME, d DECIMAL(10, 2), KEY (a), KEY (b), KEY (c))",
]
LOAD = "LOAD DATA LOCAL INFILE '{file}' INTO TABLE l FIELDS TERMINATED BY ','"
# Name and the query, whose answer is one row.
QUERIES = [
    ("window rank", "SELECT SUM(x) FROM (SELECT RANK() OVER (PARTITION BY g ORDER BY v) x FROM w) q"),
    ("window running sum", "SELECT SUM(x) FROM (SELECT SUM(v) OVER (PARTITION BY g ORDER BY id) x FROM w) q"),
    ("window running sum of all rows", "SELECT SUM(x) FROM (SELECT SUM(d) OVER (ORDER BY id) x FROM w) q"),
    (
        "window frame of rows",
        "SELECT SUM(x) FROM (SELECT AVG(v) OVER (PARTITION BY g ORDER BY id ROWS BETWEEN 5 PRECEDING AND 5 FOLLOWING) x"
        " FROM w) q",
    ),
    (
        "window frame of values",
        "SELECT SUM(x) FROM (SELECT COUNT(*) OVER (PARTITION BY g ORDER BY v RANGE BETWEEN 500 PRECEDING AND 500"
        " FOLLOWING) x FROM w) q",
    ),
    ("window maximum of a frame",
     "SELECT SUM(x) FROM (SELECT MAX(v) OVER (ORDER BY id ROWS BETWEEN 20 PRECEDING AND CURRENT ROW) x FROM w) q"),
    ("window lag and first value",
     "SELECT SUM(x), SUM(y) FROM (SELECT LAG(v) OVER u x, FIRST_VALUE(v) OVER u y FROM w"
     " WINDOW u AS (PARTITION BY g ORDER BY id)) q"),
    ("recursive", f"{NUMBERS} SELECT COUNT(*), SUM(n) FROM r"),
    (
        "recursive with text",
        f"WITH RECURSIVE r(n, s) AS (SELECT 1, CAST('x' AS CHAR(20)) UNION ALL SELECT n + 1, CONCAT('x', n) FROM r"
        f" WHERE n < {ROWS}) SELECT COUNT(*), MAX(s) FROM r",
    ),
    (
        "recursive distinct",
        f"WITH RECURSIVE r(n) AS (SELECT 1 UNION SELECT n + 1 FROM r WHERE n < {ROWS}) SELECT COUNT(*), SUM(n) FROM r",
    ),
    (
        "json_table",
        "SELECT COUNT(*), SUM(t.price), MAX(t.name) FROM j, JSON_TABLE(j.doc, '$[*]' COLUMNS (id INT PATH '$.id',"
        " name VARCHAR(20) PATH '$.name', price DECIMAL(10, 2) PATH '$.price')) t",
    ),
    (
        "json_table nested",
        "SELECT COUNT(*), SUM(t.tag) FROM j, JSON_TABLE(j.doc, '$[*]' COLUMNS (id INT PATH '$.id',"
        " NESTED PATH '$.tags[*]' COLUMNS (tag INT PATH '$'))) t",
    ),
]


class Server:
    def __init__(self, text):
        self.name, address = text.split("=")
        port, self.pid = (int(number) for number in address.split(":"))
        connection = pymysql.connect(host="127.0.0.1", port=port, user="root", autocommit=True, local_infile=True)
        self.cursor = connection.cursor()

    def prepare(self):
        for statement in SETUP:
            self.cursor.execute(statement)

    def use(self):
        for statement in (SETUP[2], SETUP[3]):
            self.cursor.execute(statement)

    def seconds_of(self, statement):
        before = processor_time(self.pid)
        self.cursor.execute(statement)
        answer = self.cursor.fetchall()
        return processor_time(self.pid) - before, answer


def load_file(folder):
    """A million rows in no order of their keys."""
    path = os.path.join(folder, "rows.csv")
    with open(path, "w") as file:
        for n in range(ROWS):
            key = n * 7919 % ROWS
            moment = f"2020-{key % 12 + 1:02}-{key % 28 + 1:02} {key % 24:02}:{key % 60:02}:00"
            file.write(f"{n},{key * 31 % 500009},name{key},{moment},{key / 100:.2f}\n")
    return path


def measure(servers, parts):
    chosen = [query for query in QUERIES if not parts or any(part in query[0] for part in parts)]
    for server in servers:
        server.use()
    for name, query in chosen:
        times = {server.name: [] for server in servers}
        answers = set()
        for _ in range(RUNS):
            for server in servers:
                seconds, answer = server.seconds_of(query)
                times[server.name].append(seconds)
                answers.add(str(answer))
        tell(name, servers, times, len(answers) == 1)
    if not parts or "load" in parts:
        with tempfile.TemporaryDirectory() as folder:
            statement = LOAD.format(file=load_file(folder))
            times = {server.name: [] for server in servers}
            for _ in range(RUNS):
                for server in servers:
                    server.cursor.execute("TRUNCATE TABLE l")
                    times[server.name].append(server.seconds_of(statement)[0])
            tell("load data with three indexes", servers, times, True)


def tell(name, servers, times, is_same):
    first, second = (statistics.median(times[server.name]) for server in servers)
    note = "" if is_same else "  ANSWERS DIFFER"
    names = [server.name for server in servers]
    print(f"{name}: {names[0]} {first:.2f} s, {names[1]} {second:.2f} s, {first / second:.2f}{note}", flush=True)


def processor_time(pid):
    with open(f"/proc/{pid}/stat") as stat:
        fields = stat.read().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def main(action, first, second, *parts):
    servers = [Server(first), Server(second)]
    if action == "measure":
        return measure(servers, parts)
    for server in servers:
        if action == "prepare":
            server.prepare()
        else:
            server.cursor.execute("DROP DATABASE language_cost")


if __name__ == "__main__":
    main(*sys.argv[1:])
