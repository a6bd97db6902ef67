"""The tests of go-sql-driver, which come with its module, and a scenario of GORM."""

import json
import re
import shutil
import subprocess

from support import Absent, HERE, command, create_database, install_step, scenario_outcomes

LINE = re.compile(r"^\s*--- (PASS|FAIL|SKIP): (\S+)")
OUTCOMES = {"PASS": "passed", "FAIL": "failed", "SKIP": "skipped"}
MODULE = "module applications\n\ngo 1.24\n"


def install(folder, suite):
    script, *modules = suite.arguments
    program = folder / "program"
    (folder / "go.mod").write_text(MODULE)
    if script:
        shutil.copy(HERE / "go" / script, folder / "main.go")
        install_step(["go", "get", *modules], folder / "install.log", cwd=folder)
        install_step(["go", "build", "-o", program, "."], folder / "install.log", cwd=folder)
        return
    answer = subprocess.run(["go", "mod", "download", "-json", *modules], cwd=folder, capture_output=True, text=True)
    if answer.returncode != 0:
        raise Absent(f"{modules[0]} cannot be fetched")
    source = folder / "source"
    if not source.exists():
        shutil.copytree(json.loads(answer.stdout)["Dir"], source)
        install_step(["chmod", "-R", "u+w", source], folder / "install.log")
    install_step(["go", "test", "-c", "-o", program, "."], folder / "install.log", cwd=source)


def run(folder, server, suite):
    log = folder / "run.log"
    if suite.arguments[0]:
        create_database(server, "gorm")
        env = {"EVENKEEL_HOST": server.host, "EVENKEEL_PORT": str(server.port), "EVENKEEL_DATABASE": "gorm"}
        command([folder / "program"], log, env=env, seconds=300)
        return scenario_outcomes(log)
    create_database(server, "gotest", "SET GLOBAL local_infile = 1")
    env = {
        "MYSQL_TEST_USER": "root",
        "MYSQL_TEST_PASS": "",
        "MYSQL_TEST_ADDR": f"{server.host}:{server.port}",
        "MYSQL_TEST_DBNAME": "gotest",
    }
    command([folder / "program", "-test.v"], log, cwd=folder / "source", env=env, seconds=600)
    lines = (LINE.match(line) for line in log.read_text(errors="replace").splitlines())
    return {found.group(2): OUTCOMES[found.group(1)] for found in lines if found}
