"""Suites that SQLAlchemy's plugin of pytest runs: its own of the MySQL dialect and of all dialects, and Alembic's."""

import re

from support import command, python_environment, source_distribution

PACKAGES = ["mysqlclient>=2.2", "pytest>=8", "greenlet", "typing-extensions", "mako", "sqlalchemy==2.0.58"]
DATABASES = ["test", "test_schema"]
LINE = re.compile(r"^(PASSED|FAILED|ERROR|SKIPPED) (?:\[\d+\] )?(\S+::.*?)(?: - .*)?$")
OUTCOMES = {"PASSED": "passed", "FAILED": "failed", "ERROR": "failed", "SKIPPED": "skipped"}


def install(folder, suite):
    python = python_environment(folder, PACKAGES)
    source = source_distribution(folder, python, *suite.arguments[0].split("=="))
    command([python, "-m", "pip", "install", "--quiet", "--no-deps", source], folder / "install.log")


def run(folder, server, suite):
    python = folder / "python" / "bin" / "python"
    statements = "; ".join(f"CREATE DATABASE IF NOT EXISTS {name}" for name in DATABASES)
    make = (
        f"import MySQLdb; c = MySQLdb.connect(host='{server.host}', port={server.port}, user='root'); "
        f"[c.cursor().execute(s) for s in '{statements}'.split('; ')]"
    )
    command([python, "-c", make], folder / "databases.log")
    url = f"mysql+mysqldb://root@{server.host}:{server.port}/test?charset=utf8mb4"
    options = ["-p", "no:cacheprovider", "-q", "-rA", "--tb=short", "--maxfail=100000", "--dburi", url]
    package, *tests = suite.arguments
    source = source_distribution(folder, python, *package.split("=="))
    log = folder / "run.log"
    command([python, "-m", "pytest", *options, *tests], log, cwd=source)
    outcomes = {}
    for line in log.read_text(errors="replace").splitlines():
        found = LINE.match(line)
        if found:
            # The class's name ends in the driver's and the server's version.
            test = re.sub(r"_mysql\+mysqldb[\w]*", "", found.group(2))
            if outcomes.get(test) != "failed":
                outcomes[test] = OUTCOMES[found.group(1)]
    return outcomes
