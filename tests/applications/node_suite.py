"""Scenarios of JavaScript libraries: a script in `node/` and the packages that it needs."""

import shutil

from support import HERE, command, create_database, install_step, scenario_outcomes

DRIVER = "mysql2@3"


def install(folder, suite):
    script, *packages = suite.arguments
    if not (folder / "node_modules").exists():
        (folder / "package.json").write_text('{"private": true}\n')
        npm = ["npm", "install", "--no-audit", "--no-fund", "--loglevel=error", "--ignore-scripts"]
        install_step([*npm, DRIVER, *packages], folder / "install.log", cwd=folder)
    for name in ["scenario.js", script]:
        shutil.copy(HERE / "node" / name, folder)


def run(folder, server, suite):
    script = suite.arguments[0]
    database = script.split(".")[0]
    create_database(server, database)
    env = {"EVENKEEL_HOST": server.host, "EVENKEEL_PORT": str(server.port), "EVENKEEL_DATABASE": database}
    log = folder / "run.log"
    command(["node", script], log, cwd=folder, env=env, seconds=300)
    return scenario_outcomes(log)
