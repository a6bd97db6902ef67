#!/usr/bin/env python3
"""What sessions that use many stored programs cost a server in memory.

    program_memory.py PORT PID [SESSIONS [PROGRAMS]]      (1000 and 100; root without a password at 127.0.0.1)

Sessions are opened and asked something, then each calls every procedure once; all stay open. Printed is the resident memory of
the server after each step. Needs pymysql.
"""

import sys

import pymysql

BODY = (
    "CREATE PROCEDURE p{}(x INT) BEGIN DECLARE i, v INT DEFAULT 0; WHILE i < 2 DO"
    " SELECT a INTO v FROM t WHERE id = x; IF v > {} THEN UPDATE t SET a = a - 1 WHERE id = x;"
    " ELSE SET @seen = CONCAT('p', v + {}); END IF; SET i = i + 1; END WHILE; END"
)


def resident_kib(pid):
    with open(f"/proc/{pid}/status") as status:
        return next(int(line.split()[1]) for line in status if line.startswith("VmRSS:"))


def main(port, pid, sessions=1000, programs=100):
    def connect(**more):
        connection = pymysql.connect(host="127.0.0.1", port=port, user="root", autocommit=True, **more)
        return connection.cursor()

    cursor = connect()
    cursor.execute("SET GLOBAL max_connections = %s", (sessions + 50,))
    for statement in [
        "DROP DATABASE IF EXISTS program_memory",
        "CREATE DATABASE program_memory",
        "USE program_memory",
        "CREATE TABLE t (id INT PRIMARY KEY, a INT)",
        "INSERT INTO t VALUES (1, 0), (2, 1), (3, 2)",
    ] + [BODY.format(number, 10 + number, number) for number in range(programs)]:
        cursor.execute(statement)
    before = resident_kib(pid)
    cursors = [connect(database="program_memory") for _ in range(sessions)]
    for one in cursors:
        one.execute("SELECT a FROM t WHERE id = 1")
        one.fetchall()
    opened = resident_kib(pid)
    for number, one in enumerate(cursors):
        for program in range(programs):
            one.execute(f"CALL p{program}({number % 3 + 1})")
    called = resident_kib(pid)
    print(f"before: {before} KiB")
    print(f"{sessions} sessions: +{opened - before} KiB, {(opened - before) / sessions:.1f} each")
    print(f"{programs} programs called by each: +{called - opened} KiB, {(called - opened) / sessions:.1f} each")
    cursors[0].execute("DROP DATABASE program_memory")


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
