#!/usr/bin/env python3
"""Random definitions and rows through servers that replicate from each other, and whether all have the same tables in the end.

    chain.py --server NAME=KIND:PORT --server NAME=KIND:PORT .. [--ring] [--root DIRECTORY] [--seconds 60] [--clients 8]
             [--pause 0] [--seed 1] [--kill NAME --kill NAME .. --every SECONDS]

The servers are started in new directories (`servers.py` says how). The first one is the source, each further one a replica of the
one before; in a ring the first follows the last as well, and clients change a database of its own on each. Clients change rows
of every type, one changes definitions. `--kill` ends the named servers with SIGKILL again and again. In the end the definitions
and rows of all tables are compared; only the rows, where MariaDB is among them. A MariaDB replica of another server follows by
position, which it does not keep when it is killed. Exit status 1: something differs or a replica has stopped.
"""

import argparse
import hashlib
import random
import re
import sys
import threading
import time

import pymysql

from servers import LOGGED, LOST, Server, definition, digest_rows

DATABASE = "chain"
TYPES = [
    "TINYINT", "SMALLINT UNSIGNED", "MEDIUMINT", "INT UNSIGNED", "BIGINT", "BIGINT UNSIGNED", "DECIMAL(30,10)", "DECIMAL(5,0) UNSIGNED",
    "FLOAT", "DOUBLE", "BIT(1)", "BIT(37)", "DATE", "TIME(3)", "TIME", "DATETIME(6)", "DATETIME", "TIMESTAMP(2) NULL", "YEAR",
    "CHAR(20)", "CHAR(10) CHARACTER SET latin1", "VARCHAR(50)", "VARCHAR(300) CHARACTER SET latin1", "VARCHAR(900)", "BINARY(8)",
    "VARBINARY(300)", "TINYTEXT", "TEXT", "MEDIUMTEXT", "LONGTEXT", "TINYBLOB", "BLOB", "LONGBLOB", "JSON", "ENUM('a','b','ccc','')",
    "SET('x','y','z')",
]
INTEGERS = ("tinyint", "smallint", "mediumint", "int", "bigint")
# What a definition or a change may be refused with: the clients do not know what the others did meanwhile.
EXPECTED = {
    1005, 1022, 1025, 1048, 1050, 1051, 1054, 1060, 1061, 1062, 1068, 1071, 1072, 1075, 1089, 1090, 1091, 1136, 1146, 1170, 1205, 1213, 1217, 1227,
    1264, 1265, 1292, 1366, 1406, 1412, 1451, 1452, 1553, 1690, 1701, 1822, 1826, 1828, 1829, 1830, 1831, 1832, 1833, 1834, 1846, 3105, 3106, 3108,
    3109, 3140, 3144, 3152, 3156, 3730, 3734, 3780, 3818, 3819, 3820, 3823, 3837, 3940, 3959, 4092, 1359, 1824, 1901, 1916, 4169, 6125,
}


def text(of):
    return of.decode() if isinstance(of, bytes) else of


class Client(threading.Thread):
    """Changes rows, or definitions, until the time is over."""

    def __init__(self, server, seed, until, defines, database, options):
        super().__init__(daemon=True)
        self.server, self.random, self.until, self.defines = server, random.Random(seed), until, defines
        self.database, self.pause, self.cascades = database, options.pause, not options.no_cascades
        # MariaDB does not drop a column of a unique key over several.
        self.has_mariadb = options.has_mariadb
        self.unique = "" if options.has_mariadb else "UNIQUE"
        # It shortens the keys of a column that becomes a text of any length.
        self.types = [kind for kind in TYPES if not options.has_mariadb or not re.search("TEXT|BLOB|900", kind)]
        self.statements, self.refused, self.unexpected = 0, 0, []

    def run(self):
        connection = None
        while time.time() < self.until:
            try:
                connection = connection or self.server.connect(self.database)
                self.cursor = connection.cursor()
                self.define() if self.defines else self.change()
            except pymysql.err.MySQLError as error:
                number = error.args[0]
                if number in LOST or isinstance(error, pymysql.err.InterfaceError):
                    connection = None
                    time.sleep(0.2)
                    continue
                self.refused += 1
                if number not in EXPECTED:
                    self.unexpected.append(str(error))
                try:
                    connection.rollback()
                except pymysql.err.MySQLError:
                    connection = None
            time.sleep(0.3 if self.defines else self.pause)

    def execute(self, text):
        self.statements += 1
        self.cursor.execute(text)

    def one(self, of):
        return self.random.choice(of)

    def table(self):
        return f"t{self.random.randrange(8)}"

    def columns(self, table):
        self.cursor.execute(
            "SELECT column_name, column_type, data_type FROM information_schema.columns WHERE table_schema = DATABASE() AND "
            f"table_name = '{table}' AND COALESCE(generation_expression, '') = '' AND extra NOT LIKE '%auto_increment%'"
        )
        return self.cursor.fetchall()

    # Definitions.

    def define(self):
        table, column = self.table(), f"c{self.random.randrange(40)}"
        has = self.columns(table)
        kind = self.random.randrange(20)
        if not has or kind == 0:
            return self.create(table)
        # MariaDB renames what CHECK constraints use; neither MySQL nor this server does.
        changeable = [column for column in has if not self.has_mariadb or text(column[0]) != "id"]
        if not changeable:
            return self.create(table)
        some, full, kind_of_some = (text(part) for part in self.one(changeable))
        # MariaDB makes a shorter key of one that is too long.
        part = f"{some}(20)" if kind_of_some.endswith(("text", "blob")) or full == "varchar(900)" else some
        # MariaDB takes AUTO_INCREMENT columns as a base, others do not.
        base = "id" if any(text(column[0]) == "id" for column in has) else "21"
        # Beside a moment MySQL refuses a number that is none (1292); this server compares them as SELECT does.
        numbers = [text(column[0]) for column in has if text(column[2]) in INTEGERS]
        checked = "id" if "id" in numbers else self.one(numbers or ["21"])
        actions = ["CASCADE", "SET NULL", "RESTRICT"] if self.cascades else ["RESTRICT"]
        alter = {
            1: f"ADD COLUMN {column} {self.one(TYPES)}",
            2: f"ADD COLUMN {column} {self.one(TYPES)} FIRST",
            3: f"DROP COLUMN {some}",
            4: f"ADD INDEX i{self.random.randrange(9)} ({part})",
            5: f"ADD {self.unique} INDEX i{self.random.randrange(9)} ({part}, id)",
            6: f"DROP INDEX i{self.random.randrange(9)}",
            7: f"MODIFY {some} {self.one(self.types)}",
            8: f"RENAME COLUMN {some} TO {column}",
            9: f"ADD COLUMN g{self.random.randrange(5)} BIGINT AS ({base} * 2) {self.one(['VIRTUAL', 'STORED'])}",
            10: f"ADD CHECK ({checked} > {self.random.randrange(5)} - 10)",
            11: "FORCE",
            12: f"ADD FOREIGN KEY (parent) REFERENCES {self.table()} (id) ON DELETE {self.one(actions)}",
            13: f"ALTER COLUMN parent SET DEFAULT {self.random.randrange(9)}",
        }
        if kind in alter:
            return self.execute(f"ALTER TABLE {table} {alter[kind]}")
        other = self.table()
        if kind == 18 and self.has_mariadb:
            return None  # it does not read how MySQL 9.7 and we log it
        self.execute(
            {
                14: f"RENAME TABLE {table} TO moved, {other} TO {table}, moved TO {other}",
                15: f"DROP TABLE IF EXISTS {table}",
                16: f"TRUNCATE TABLE {table}",
                17: f"CREATE OR REPLACE VIEW v{self.random.randrange(3)} AS SELECT id, parent FROM {table} WHERE id % 2",
                18: f"CREATE TABLE {other} AS SELECT * FROM {table} LIMIT 50",
                19: f"CREATE TRIGGER g{self.random.randrange(3)} BEFORE INSERT ON {table} FOR EACH ROW SET NEW.parent = NULL",
            }.get(kind, f"DROP TRIGGER IF EXISTS g{self.random.randrange(3)}")
        )

    def create(self, table):
        key = self.one(["BIGINT AUTO_INCREMENT PRIMARY KEY", "INT AUTO_INCREMENT PRIMARY KEY", "INT AUTO_INCREMENT UNIQUE", "INT"])
        parts = [f"id {key}", "parent " + ("BIGINT" if "BIGINT" in key else "INT"), "KEY (parent)"]
        for number in range(self.random.randrange(1, 9)):
            parts.append(f"c{number} {self.one(TYPES)}")
        self.execute(f"CREATE TABLE IF NOT EXISTS {table} ({', '.join(parts)})")

    # Rows.

    def change(self):
        table = self.table()
        columns = self.columns(table)
        if not columns:
            time.sleep(0.05)
            return
        count = self.one([0, 0, 1, 3])
        if count:
            self.execute("BEGIN")
        for _ in range(max(count, 1)):
            self.change_rows(table, columns)
        if count:
            self.execute(self.one(["COMMIT", "COMMIT", "COMMIT", "ROLLBACK"]))

    def change_rows(self, table, columns):
        number, kind = self.random.randrange(400), self.random.randrange(10)
        if kind < 5:
            chosen = [column for column in columns if self.random.random() < 0.8 and column[0] != "id"] or columns[:1]
            names = ", ".join(f"`{column[0]}`" for column in chosen)
            rows = [f"({', '.join(self.value(column) for column in chosen)})" for _ in range(self.one([1, 1, 2, 20]))]
            verb = self.one(["INSERT", "INSERT", "INSERT IGNORE", "REPLACE"])
            return self.execute(f"{verb} INTO {table} ({names}) VALUES {', '.join(rows)}")
        if kind < 8:
            column = self.one(columns)
            if column[0] == "id":
                return None
            where = self.one([f"id = {number}", f"id BETWEEN {number} AND {number + 20}", f"parent = {number}"])
            return self.execute(f"UPDATE {table} SET `{column[0]}` = {self.value(column)} WHERE {where}")
        where = self.one([f"id = {number}", f"id BETWEEN {number} AND {number + 5}", "id % 50 = 7"])
        return self.execute(f"DELETE FROM {table} WHERE {where}")

    def value(self, column):
        name, full, kind = (text(part) for part in column)
        r = self.random
        if r.random() < 0.15:
            return "NULL"
        if name == "parent":
            return str(r.randrange(1, 400))
        letters = lambda longest: "'" + "".join(r.choice("abcdÄÖü xyz0") for _ in range(r.randrange(longest))) + "'"
        if kind in ("tinyint", "smallint", "mediumint", "int", "bigint"):
            return str(r.choice([0, 1, 127, r.randrange(30000), 2**31 - 1 if "int" in kind else 1]))
        if kind == "bit":
            return f"b'{r.getrandbits(30):b}'" if full != "bit(1)" else f"b'{r.getrandbits(1)}'"
        simple = {
            "decimal": lambda: f"{r.randrange(99999)}.{r.randrange(10**9)}",
            "float": lambda: repr(r.choice([0.0, 1.5, r.random() * 1e10])),
            "double": lambda: repr(r.choice([0.0, -1e300, r.random()])),
            "date": lambda: f"'20{r.randrange(10, 99)}-{r.randrange(1, 13):02}-{r.randrange(1, 29):02}'",
            "time": lambda: f"'{r.randrange(-800, 800)}:{r.randrange(60):02}:{r.randrange(60):02}.{r.randrange(1000):03}'",
            "year": lambda: str(r.randrange(1901, 2155)),
            "json": lambda: "'" + r.choice(['{"a": [1, 2.5, "x"], "b": null}', "[]", '"text"', "17", "true"]) + "'",
            "enum": lambda: r.choice(["'a'", "'b'", "'ccc'", "''"]),
            "set": lambda: r.choice(["'x'", "'x,z'", "''", "'y'"]),
        }
        if kind in simple:
            return simple[kind]()
        if kind in ("datetime", "timestamp"):
            moment = f"'20{r.randrange(10, 37)}-{r.randrange(1, 13):02}-{r.randrange(1, 29):02} {r.randrange(4, 24):02}:{r.randrange(60):02}"
            return moment + f":{r.randrange(60):02}.{r.randrange(10**6):06}'"
        longest = re.search(r"\((\d+)\)", full)
        if longest:
            return letters(int(longest.group(1)) + 1)
        if "long" in kind and r.random() < 0.1:
            return f"REPEAT({letters(50)}, {r.randrange(4000)})"
        return letters(60)


def tables_of(server, databases, with_definitions):
    """Each table and view: its definition, its number of rows and a digest of them."""
    found = {}
    for database in databases:
        for name, kind in server.query(f"SHOW FULL TABLES FROM {database}"):
            text = definition(server, name, database) if with_definitions else ""
            if kind == "VIEW":
                found[database, name] = (text, 0, "")
                continue
            rows = digest_rows(server, name, database)
            found[database, name] = (text, len(rows), hashlib.sha256("\n".join(rows).encode()).hexdigest())
    return found


def killer(server, every, until, kills):
    while time.time() + 2 < until:
        time.sleep(every * random.uniform(0.5, 1.5))
        server.kill()
        time.sleep(0.5)
        server.start()
        kills.append(server.name)


def compared(server, reference, found):
    different = [name for name in sorted(reference.keys() | found.keys()) if reference.get(name) != found.get(name)]
    rows = sum(table[1] for table in found.values())
    print(f"{server.name}: {len(found)} tables, {rows} rows, {len(different)} differ", flush=True)
    for name in different:
        left, right = reference.get(name), found.get(name)
        print(f"  {'.'.join(name)}: {left and left[1:]} on the source, {right and right[1:]} here")
        if left and right and left[0] != right[0]:
            print(f"--- source\n{left[0]}\n--- {server.name}\n{right[0]}")
    return bool(different)


def waited_for(server, mark, seconds=900):
    """Whether it has all of it; an applier that failed has stopped, a connection that failed is tried again."""
    began, applying, connection = time.time(), "", ""
    while time.time() - began < seconds and not applying:
        if server.has_reached(mark):
            print(f"{server.name}: has all after {time.time() - began:.1f} s", flush=True)
            return True
        applying, connection = server.replica_errors()
    print(f"{server.name}: has not all transactions: {applying or connection}")
    return False


def run(options, servers):
    source, last = servers[0], servers[-1]
    pairs = list(zip(servers, servers[1:])) + ([(last, source)] if options.ring else [])
    for one, replica in pairs:
        replica.follow(one)
    writers = servers if options.ring else servers[:1]
    databases = [f"{DATABASE}_{server.name}" for server in writers]
    for server, database in zip(writers, databases):
        server.query(f"CREATE DATABASE {database} CHARACTER SET utf8mb4 COLLATE {options.collation}")
    until = time.time() + options.seconds
    clients = []
    for server, database in zip(writers, databases):
        for number in range(options.clients + 1):
            clients.append(Client(server, options.seed * 1000 + len(clients), until, number == 0, database, options))
    kills = []
    killers = [
        threading.Thread(target=killer, args=(server, options.every, until, kills))
        for server in servers
        if server.name in options.kill
    ]
    for thread in clients + killers:
        thread.start()
    for thread in clients + killers:
        thread.join()
    statements, refused = sum(client.statements for client in clients), sum(client.refused for client in clients)
    killed = ", ".join(f"{kills.count(name)} of {name}" for name in options.kill)
    print(f"{statements} statements of {len(clients)} clients, {refused} refused, {len(kills)} kills ({killed})", flush=True)
    for text in sorted({text for client in clients for text in client.unexpected})[:20]:
        print(f"  refused unexpectedly: {text}")
    failed = not all(waited_for(replica, one.mark()) for one, replica in pairs)
    if options.ring:
        failed |= not all(waited_for(replica, one.mark()) for one, replica in pairs)
    same_kind = not any(server.is_mariadb() for server in servers)
    reference = tables_of(source, databases, same_kind)
    for server in servers[1:]:
        failed |= compared(server, reference, tables_of(server, databases, same_kind))
    return failed


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--server", action="append", required=True)
    parser.add_argument("--ring", action="store_true")
    parser.add_argument("--root", default="chain-data")
    parser.add_argument("--seconds", type=int, default=60)
    parser.add_argument("--clients", type=int, default=8)
    parser.add_argument("--pause", type=float, default=0, help="seconds between the statements of a client")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--kill", action="append", default=[])
    parser.add_argument("--every", type=float, default=30)
    parser.add_argument("--collation", default="utf8mb4_general_ci")
    parser.add_argument("--no-cascades", action="store_true", help="foreign keys only refuse (sources that do not log cascades)")
    options = parser.parse_args()
    servers = [Server(text, options.root) for text in options.server]
    options.has_mariadb = any(server.is_mariadb() for server in servers)
    if options.has_mariadb:
        TYPES.remove("JSON")  # a text in MariaDB
    try:
        for number, server in enumerate(servers):
            server.more = [f"--server-id={number + 1}", *LOGGED[server.kind]]
            server.wipe()
            server.start()
        failed = run(options, servers)
    finally:
        for server in servers:
            try:
                server.stop()
            except OSError:
                print(f"{server.name} does not run")
    sys.exit(failed)


main()
