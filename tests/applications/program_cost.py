#!/usr/bin/env python3
"""Processor time of a server for stored programs, in microseconds of each call or row.

    program_cost.py PORT PID        (needs pymysql; root without a password at 127.0.0.1; PID is the server's)

Each figure is the smaller of two runs inside of one transaction, read from /proc/PID/stat. Run it on two servers, one
after the other, to compare them.
"""

import os
import sys

import pymysql

ROWS = "WITH RECURSIVE r(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM r WHERE n < 1000) SELECT n, n FROM r"
LOOP = (
    "CREATE PROCEDURE {}(n INT) BEGIN DECLARE i, y INT DEFAULT 0; {} WHILE i < n DO {}; SET i = i + 1; END WHILE; END"
)
SETUP = [
    "DROP DATABASE IF EXISTS program_cost",
    "CREATE DATABASE program_cost",
    "USE program_cost",
    "CREATE TABLE t (id INT PRIMARY KEY, v INT)",
    "CREATE TABLE g (id INT AUTO_INCREMENT PRIMARY KEY, a INT, b INT)",
    "CREATE TABLE h (a INT PRIMARY KEY, n INT)",
    "INSERT INTO h VALUES (1, 0)",
    f"INSERT INTO t {ROWS}",
    "CREATE TRIGGER g_before BEFORE INSERT ON g FOR EACH ROW BEGIN SET NEW.b = NEW.a * 2; SET @x = NEW.b; END",
    "CREATE FUNCTION plain(x INT) RETURNS INT DETERMINISTIC BEGIN DECLARE y INT; SET y = x + 1; RETURN y * 2; END",
    "CREATE FUNCTION reading(x INT) RETURNS INT READS SQL DATA RETURN (SELECT v FROM t WHERE id = x)",
    "CREATE PROCEDURE two(x INT) BEGIN DECLARE a INT;"
    " SELECT v INTO a FROM t WHERE id = x; UPDATE h SET n = n + 1 WHERE a = 1; END",
]
# Name, what is declared or prepared, the body of the loop, how often.
LOOPS = [
    ("an iteration of two SET", "", "SET y = y + 1", 1_000_000),
    ("a call of two statements", "", "CALL two(i MOD 1000 + 1)", 100_000),
    ("an INSERT with a trigger of two statements", "", "INSERT INTO g (a) VALUES (i)", 50_000),
    ("EXECUTE of SET", "PREPARE s FROM 'SET @y = 1';", "EXECUTE s", 100_000),
    (
        "EXECUTE with a value",
        "PREPARE s FROM 'SELECT v INTO @y FROM t WHERE id = ?'; SET @z = 5;",
        "EXECUTE s USING @z",
        100_000,
    ),
    ("a stored function", "", "SET y = plain(i)", 300_000),
    ("a function with a query", "", "SET y = reading(i MOD 1000 + 1)", 100_000),
    ("SELECT INTO", "", "SELECT v INTO y FROM t WHERE id = i MOD 1000 + 1", 100_000),
    ("UPDATE", "", "UPDATE t SET v = v + 1 WHERE id = i MOD 1000 + 1", 50_000),
]


def main(port, pid):
    cursor = pymysql.connect(host="127.0.0.1", port=port, user="root", autocommit=True).cursor()
    for statement in SETUP:
        cursor.execute(statement)
    for number, (name, before, body, count) in enumerate(LOOPS):
        cursor.execute(LOOP.format(f"loop{number}", before, body))
        best = min(seconds_of(cursor, f"CALL loop{number}({count})", pid) for _ in range(2))
        print(f"{name}: {best / count * 1e6:.2f}", flush=True)
    cursor.execute("DROP DATABASE program_cost")


def seconds_of(cursor, statement, pid):
    """The server's processor time for a statement."""
    cursor.execute("BEGIN")
    before = processor_time(pid)
    cursor.execute(statement)
    after = processor_time(pid)
    cursor.execute("COMMIT")
    return after - before


def processor_time(pid):
    with open(f"/proc/{pid}/stat") as stat:
        fields = stat.read().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


if __name__ == "__main__":
    main(int(sys.argv[1]), int(sys.argv[2]))
