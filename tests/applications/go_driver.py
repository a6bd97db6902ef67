"""The tests of go-sql-driver, which come with its module."""

import json
import re
import shutil
import subprocess

from support import Absent, command, create_database, install_step

LINE = re.compile(r"^\s*--- (PASS|FAIL|SKIP): (\S+)")
OUTCOMES = {"PASS": "passed", "FAIL": "failed", "SKIP": "skipped"}


def install(folder, suite):
    if (folder / "driver.test").exists():
        return
    (folder / "go.mod").write_text("module applications\n\ngo 1.24\n")
    answer = subprocess.run(
        ["go", "mod", "download", "-json", *suite.arguments], cwd=folder, capture_output=True, text=True
    )
    if answer.returncode != 0:
        raise Absent(f"{suite.arguments[0]} cannot be fetched")
    source = folder / "source"
    shutil.copytree(json.loads(answer.stdout)["Dir"], source, dirs_exist_ok=True)
    install_step(["chmod", "-R", "u+w", source], folder / "install.log")
    install_step(["go", "test", "-c", "-o", folder / "driver.test", "."], folder / "install.log", cwd=source)


def run(folder, server, _suite):
    create_database(server, "gotest", "SET GLOBAL local_infile = 1")
    env = {
        "MYSQL_TEST_USER": "root",
        "MYSQL_TEST_PASS": "",
        "MYSQL_TEST_ADDR": f"{server.host}:{server.port}",
        "MYSQL_TEST_DBNAME": "gotest",
    }
    log = folder / "run.log"
    command([folder / "driver.test", "-test.v"], log, cwd=folder / "source", env=env, seconds=600)
    lines = (LINE.match(line) for line in log.read_text(errors="replace").splitlines())
    return {found.group(2): OUTCOMES[found.group(1)] for found in lines if found}
