"""PHP applications as Debian packages them: unpacked, not installed, and run by PHP's command line."""

import os
import pathlib
import shutil

from support import Absent, HERE, command, create_database, install_step, scenario_outcomes


def install(folder, suite):
    script, *packages = suite.arguments
    site = folder / "site"
    if site.exists():
        return
    if shutil.which("apt-get") is None or shutil.which("dpkg") is None:
        raise Absent("Debian's apt-get is absent")
    install_step(["php", "-r", "exit(extension_loaded('mysqli') && extension_loaded('mbstring') ? 0 : 1);"], folder / "install.log")
    install_step(["apt-get", "download", *packages], folder / "install.log", cwd=folder)
    for archive in folder.glob("*.deb"):
        install_step(["dpkg", "-x", archive, folder / "tree"], folder / "install.log")
    PREPARE[script](folder / "tree", site)


def prepare_wordpress(tree, site):
    shutil.copytree(tree / "usr/share/wordpress", site, ignore=no_dangling)
    (site / "wp-config.php").unlink(missing_ok=True)
    shutil.rmtree(site / "wp-content", ignore_errors=True)
    for name in ["plugins", "themes", "uploads"]:
        (site / "wp-content" / name).mkdir(parents=True)


def prepare_mediawiki(tree, site):
    shutil.copytree(tree / "usr/share/mediawiki", site, ignore=no_dangling)
    shutil.rmtree(site / "mw-config", ignore_errors=True)
    for name in ["extensions", "images", "cache"]:
        (site / name).mkdir(exist_ok=True)


def no_dangling(directory, names):
    """Links to other packages and to absolute places."""
    paths = ((name, pathlib.Path(directory) / name) for name in names)
    return [name for name, path in paths if path.is_symlink() and not path.exists()]


PREPARE = {"wordpress.php": prepare_wordpress, "mediawiki.php": prepare_mediawiki}


def run(folder, server, suite):
    script = suite.arguments[0]
    database = script.split(".")[0]
    create_database(server, database)
    env = {"EVENKEEL_HOST": server.host, "EVENKEEL_PORT": str(server.port), "EVENKEEL_DATABASE": database}
    env["EVENKEEL_WITHOUT_SEARCH"] = os.environ.get("EVENKEEL_WITHOUT_SEARCH", "1")
    log = folder / "run.log"
    command(["php", HERE / "php" / script], log, cwd=folder / "site", env=env, seconds=900)
    return scenario_outcomes(log)
