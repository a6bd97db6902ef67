"""Dumps both ways: databases of `dumps/` are dumped by the command line tool, loaded elsewhere, and compared.

Elsewhere is another database of the same server, or the server at EVENKEEL_OTHER=host:port (root without a password),
for instance MySQL: then the dumps go there and, of what was made there, come here. MariaDB's tool dumps the values of generated
columns, which no MySQL takes back: `computed` is dumped by MySQL's own only, which EVENKEEL_MYSQLDUMP names where it is not in PATH.
"""

import os
import shutil
import subprocess

from support import Absent, HERE

DATABASES = ["rental", "employees", "objects"]
COMPUTED = "computed"


def install(_folder, _suite):
    tool("mariadb-dump", "mysqldump")
    tool("mariadb", "mysql")


def tool(*names):
    found = next((name for name in names if shutil.which(name)), None)
    if found is None:
        raise Absent(f"{' or '.join(names)} is absent")
    return found


def own_tool():
    """MySQL's mysqldump, or None."""
    path = os.environ.get("EVENKEEL_MYSQLDUMP") or shutil.which("mysqldump")
    if path is None:
        return None
    version = subprocess.run([path, "--version"], capture_output=True, text=True).stdout
    return None if "MariaDB" in version else path


def run(_folder, server, _suite):
    here = (server.host, str(server.port))
    other = tuple(os.environ["EVENKEEL_OTHER"].rsplit(":", 1)) if "EVENKEEL_OTHER" in os.environ else here
    know_each_other(here, other)
    outcomes = {}
    for name in DATABASES + ([COMPUTED] if own_tool() else []):
        ways = [("here", here, other)] + ([("back", other, here)] if other != here else [])
        for way, origin, destination in ways:
            difference = copy_of(name, origin, destination)
            outcomes[f"{name} {way}"] = "failed" if difference else "passed"
            if difference:
                print(f"dumps: {name} {way}: {difference}")
    return outcomes


def know_each_other(left, right):
    """What a dump names as definer has to exist where it is loaded, or views of its views are refused (1449)."""
    for origin, destination in [(left, right), (right, left)]:
        account = "@".join(f"'{part}'" for part in ask(origin, "", "SELECT CURRENT_USER()").strip().rsplit("@", 1))
        ask(destination, "", f"CREATE USER IF NOT EXISTS {account}; GRANT ALL ON *.* TO {account}")


def copy_of(name, origin, destination):
    """What differs between a database and what its dump makes elsewhere; nothing if all is well."""
    copy = f"{name}_copy"
    ask(origin, "", f"DROP DATABASE IF EXISTS {name}; CREATE DATABASE {name}")
    error = load(origin, name, (HERE / "dumps" / f"{name}.sql").read_bytes())
    if error:
        return error
    dump = subprocess.run(
        [*dumping(name, origin), "--routines", "--triggers", "--hex-blob", name],
        capture_output=True,
    )
    if dump.returncode != 0:
        return dump.stderr.decode()
    ask(destination, "", f"DROP DATABASE IF EXISTS {copy}; CREATE DATABASE {copy}")
    error = load(destination, copy, dump.stdout)
    if error:
        return error
    for table in ask(origin, name, "SHOW TABLES").split():
        for question in [f"SHOW CREATE TABLE `{table}`", f"CHECKSUM TABLE `{table}`"]:
            left = ask(origin, name, question).replace(f"{name}.", "")
            right = ask(destination, copy, question).replace(f"{copy}.", "")
            if left != right:
                return f"{question}: {left} | {right}"
    return ""


def login(address):
    options = ["-h", address[0], "-P", address[1], "-u", "root", "--default-character-set=utf8mb4"]
    return options + (["--skip-ssl"] if tool("mariadb", "mysql") == "mariadb" else [])


def dumping(name, address):
    """The tool that dumps the database, with its login."""
    if name != COMPUTED:
        return [tool("mariadb-dump", "mysqldump"), *login(address)]
    options = ["--set-gtid-purged=OFF", "--column-statistics=0", "--default-character-set=utf8mb4"]
    return [own_tool(), "-h", address[0], "-P", address[1], "-u", "root", *options]


def load(address, database, text):
    answer = subprocess.run([tool("mariadb", "mysql"), *login(address), database], input=text, capture_output=True)
    return answer.stderr.decode() if answer.returncode != 0 else ""


def ask(address, database, text):
    client = [tool("mariadb", "mysql"), *login(address), "-N", "-e", text]
    return subprocess.run(client + ([database] if database else []), capture_output=True, text=True).stdout
