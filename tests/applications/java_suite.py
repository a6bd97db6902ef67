"""A scenario of Java's libraries over Connector/J: `java/Scenario.java` and the jars of `java/pom.xml`."""

from support import HERE, command, create_database, install_step, scenario_outcomes


def install(folder, _suite):
    jars = folder / "jars"
    if not jars.exists():
        maven = ["mvn", "--quiet", "--batch-mode", "-f", HERE / "java" / "pom.xml"]
        install_step([*maven, "dependency:copy-dependencies", f"-DoutputDirectory={jars}"], folder / "install.log")
    # Compiled first: Hibernate's proxies need classes of an ordinary loader.
    javac = ["javac", "-nowarn", "-proc:none", "-cp", f"{jars}/*", "-d", folder / "classes"]
    install_step([*javac, HERE / "java" / "Scenario.java"], folder / "compile.log")


def run(folder, server, _suite):
    create_database(server, "java")
    env = {"EVENKEEL_HOST": server.host, "EVENKEEL_PORT": str(server.port), "EVENKEEL_DATABASE": "java"}
    log = folder / "run.log"
    command(["java", "-cp", f"{folder}/classes:{folder}/jars/*", "Scenario"], log, env=env, seconds=600)
    return scenario_outcomes(log)
