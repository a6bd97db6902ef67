"""Servers that the scripts of this folder and of `tests/backup` start, kill, ask and attach to each other.

A server is written `NAME=KIND:PORT`, KIND one of evenkeel, mysql and mariadb. Ours is `$EVENKEEL_PROGRAM` (target/release/evenkeel).
The others are started by the commands in `$MYSQL_START` and `$MARIADB_START`, in which {port}, {directory} and {options} are
replaced; a command has to make the data directory if there is none and to end when the server answers. All have root without
a password at 127.0.0.1. Needs pymysql.
"""

import os
import re
import shutil
import signal
import subprocess
import time

import pymysql

LOGGED = {
    "evenkeel": ["--log-bin", "--gtid-mode=ON", "--enforce-gtid-consistency=ON", "--log-replica-updates=ON"],
    "mysql": ["--log-bin=binlog", "--gtid-mode=ON", "--enforce-gtid-consistency=ON"],
    "mariadb": [
        "--log-bin=binlog", "--log-slave-updates", "--binlog-format=ROW", "--character-set-server=utf8mb4",
        "--collation-server=utf8mb4_general_ci", "--character-set-collations=utf8mb4=utf8mb4_general_ci",
    ],
}
# A connection that is lost, or that is not there yet.
LOST = (0, 1053, 1152, 1927, 2003, 2006, 2013, 2014, 3169)


class Server:
    def __init__(self, text, root, more=()):
        self.name, place = text.split("=", 1)
        self.kind, port = place.split(":")
        self.port, self.directory, self.more, self.process = int(port), os.path.join(os.path.abspath(root), self.name), list(more), None

    def is_mariadb(self):
        return self.kind == "mariadb"

    # Life.

    def command(self):
        options = [*self.more, "--innodb-buffer-pool-size=128M"] if "buffer-pool" not in str(self.more) else self.more
        if self.kind == "evenkeel":
            program = os.environ.get("EVENKEEL_PROGRAM", "target/release/evenkeel")
            own = ["serve", f"--datadir={self.directory}", f"--port={self.port}", "--bind-address=127.0.0.1"]
            return [program, *own, *options]
        template = os.environ[{"mysql": "MYSQL_START", "mariadb": "MARIADB_START"}[self.kind]]
        return ["bash", "-c", template.format(port=self.port, directory=self.directory, options=" ".join(options))]

    def wipe(self):
        shutil.rmtree(self.directory, ignore_errors=True)

    def start(self, seconds=300):
        if self.kind == "evenkeel":
            os.makedirs(os.path.dirname(self.directory), exist_ok=True)
            with open(self.directory + ".log", "ab") as log:
                self.process = subprocess.Popen(self.command(), stdout=log, stderr=log)
        else:
            subprocess.run(self.command(), check=True, stdout=subprocess.DEVNULL)
        self.wait_until_up(seconds)

    def pid(self):
        if self.kind == "evenkeel":
            return self.process.pid
        with open(os.path.join(self.directory, "data", "mysqld.pid"), encoding="ascii") as file:
            return int(file.read())

    def kill(self):
        pid = self.pid()
        os.kill(pid, signal.SIGKILL)
        self.wait_until_gone(pid)

    def stop(self):
        pid = self.pid()
        os.kill(pid, signal.SIGTERM)
        self.wait_until_gone(pid)

    def wait_until_gone(self, pid):
        if self.process:
            self.process.wait(120)
            return
        until = time.time() + 120
        while os.path.exists(f"/proc/{pid}") and time.time() < until:
            time.sleep(0.05)

    def wait_until_up(self, seconds=300):
        until = time.time() + seconds
        while True:
            try:
                return self.query("SELECT 1")
            except pymysql.err.MySQLError:
                if self.process and self.process.poll() is not None:
                    raise SystemExit(f"{self.name} ended while it started: {self.directory}.log") from None
                if time.time() > until:
                    raise
                time.sleep(0.2)

    # Questions.

    def connect(self, database=None):
        return pymysql.connect(
            host="127.0.0.1", port=self.port, user="root", database=database, autocommit=True, charset="utf8mb4", read_timeout=600
        )

    def query(self, text, database=None):
        connection = self.connect(database)
        try:
            cursor = connection.cursor()
            cursor.execute(text)
            return cursor.fetchall()
        finally:
            connection.close()

    def row(self, text):
        """The first row by the names of its columns, or nothing."""
        connection = self.connect()
        try:
            cursor = connection.cursor(pymysql.cursors.DictCursor)
            cursor.execute(text)
            return cursor.fetchone() or {}
        finally:
            connection.close()

    def status(self, name):
        return int(self.query(f"SHOW GLOBAL STATUS LIKE '{name}'")[0][1])

    # Replication.

    def follow(self, source):
        """From the beginning of what the source has now; by identifiers where both know the same."""
        host = f"HOST='127.0.0.1', {{0}}_PORT={source.port}, {{0}}_USER='root', {{0}}_CONNECT_RETRY=1"
        if self.is_mariadb():
            words = host.replace("{0}", "MASTER")
            file, position = source.position() if not source.is_mariadb() else (None, None)
            place = f"MASTER_LOG_FILE='{file}', MASTER_LOG_POS={position}, MASTER_USE_GTID=no" if file else "MASTER_USE_GTID=slave_pos"
            self.query("STOP SLAVE")
            self.query(f"CHANGE MASTER TO MASTER_{words}, {place}")
            self.query("START SLAVE")
            return
        words = host.replace("{0}", "SOURCE")
        self.query("STOP REPLICA")
        self.query(
            f"CHANGE REPLICATION SOURCE TO SOURCE_{words}, SOURCE_AUTO_POSITION=1, SOURCE_RETRY_COUNT=100000"
            + ("" if source.is_mariadb() else ", GET_SOURCE_PUBLIC_KEY=1")
        )
        if source.is_mariadb():
            self.query(f"SET GLOBAL gtid_slave_pos = '{source.query('SELECT @@gtid_binlog_pos')[0][0]}'")
        self.query("START REPLICA")

    def position(self):
        """File and byte of the end of its binary log."""
        status = self.row("SHOW MASTER STATUS" if self.is_mariadb() else "SHOW BINARY LOG STATUS")
        return status["File"], status["Position"]

    def executed(self):
        return self.query("SELECT @@GLOBAL.gtid_executed")[0][0].replace("\n", "")

    def mark(self):
        """Where a replica has to be; asked of it by `has_reached`."""
        if self.is_mariadb():
            return ("identifiers", self.query("SELECT @@gtid_current_pos")[0][0])
        return ("set", self.executed(), *self.position())

    def has_reached(self, mark, seconds=5):
        if self.is_mariadb():
            text = f"SELECT MASTER_GTID_WAIT('{mark[1]}', {seconds})" if mark[0] == "identifiers" else None
            return self.query(text or f"SELECT MASTER_POS_WAIT('{mark[2]}', {mark[3]}, {seconds})")[0][0] not in (None, -1)
        if mark[0] == "set":
            return self.query(f"SELECT WAIT_FOR_EXECUTED_GTID_SET('{mark[1]}', {seconds})")[0][0] == 0
        has = dict(part.rsplit("-", 1) for part in self.query("SELECT @@gtid_slave_pos")[0][0].split(",") if part)
        wanted = dict(part.rsplit("-", 1) for part in mark[1].split(",") if part)
        if all(int(has.get(domain, 0)) >= int(number) for domain, number in wanted.items()):
            return True
        time.sleep(seconds / 10)
        return False

    def replica_errors(self):
        """Of the applier and of the connection; empty where there is none."""
        status = self.row("SHOW SLAVE STATUS" if self.is_mariadb() else "SHOW REPLICA STATUS")
        return status.get("Last_SQL_Error", ""), status.get("Last_IO_Error", "")


def digest_rows(server, table, database):
    """The rows of a table in an order of their own: servers return them in different ones."""
    return sorted(map(repr, server.query(f"SELECT * FROM `{table}`", database)))


def definition(server, table, database):
    """As SHOW CREATE tells it, without what a replica does not get: the next number, and whether a character set was written (MySQL
    logs CREATE TABLE .. SELECT with the collation of each column, which is one that was written then)."""
    text = server.query(f"SHOW CREATE TABLE `{table}`", database)[0][1]
    return re.sub(r" CHARACTER SET \w+ COLLATE", " COLLATE", re.sub(r" AUTO_INCREMENT=\d+", "", text))
