"""The tests of go-sql-driver, which come with its module, and scenarios of GORM and of ent, whose code is made from a schema."""

import json
import re
import shutil
import subprocess

from support import Absent, HERE, command, create_database, install_step, scenario_outcomes

LINE = re.compile(r"^\s*--- (PASS|FAIL|SKIP): (\S+)")
OUTCOMES = {"PASS": "passed", "FAIL": "failed", "SKIP": "skipped"}
# What ent makes of the schema, beside what it always does.
ENT_FEATURES = "sql/upsert,sql/lock"
MODULE = "module applications\n\ngo 1.24\n"


def install(folder, suite):
    script, *modules = suite.arguments
    program = folder / "program"
    (folder / "go.mod").write_text(MODULE)
    if script:
        shutil.copy(HERE / "go" / script, folder / "main.go")
        schema = HERE / "go" / script.replace(".go", "_schema.go")
        if schema.exists():
            generate_ent(folder, schema, modules)
        else:
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


def generate_ent(folder, schema, modules):
    """The packages that ent writes for a schema, which the scenario imports."""
    (folder / "ent" / "schema").mkdir(parents=True, exist_ok=True)
    shutil.copy(schema, folder / "ent" / "schema" / "schema.go")
    log = folder / "install.log"
    install_step(["go", "get", *modules], log, cwd=folder)
    generate = ["go", "run", "-mod=mod", "entgo.io/ent/cmd/ent", "generate", "--feature", ENT_FEATURES, "./ent/schema"]
    install_step(generate, log, cwd=folder)
    install_step(["go", "mod", "tidy"], log, cwd=folder)


def run(folder, server, suite):
    log = folder / "run.log"
    if suite.arguments[0]:
        database = suite.arguments[0].split(".")[0]
        create_database(server, database)
        env = {"EVENKEEL_HOST": server.host, "EVENKEEL_PORT": str(server.port), "EVENKEEL_DATABASE": database}
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
