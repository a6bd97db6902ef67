"""Redmine as Debian packages it, with its own migrations and a part of its own tests from the source package.

Ruby and what Redmine depends on are unpacked beside the system: each command runs in a mount namespace of its own in which
they lie over /usr, so nothing is installed.
"""

import pathlib
import re
import shutil

from support import Absent, command, create_database, install_step

ALONE = 'mount -t overlay overlay -o "lowerdir=$0/usr:/usr" /usr && cd "$1" && shift && exec "$@"'


def alone(folder, *arguments):
    """The command in its namespace and in Redmine's folder."""
    return ["unshare", "--mount", "sh", "-c", ALONE, folder / "tree", folder / "site", *arguments]


def sources(folder):
    """A list of apt's sources in which packages are replaced by their sources; gives the options that name it."""
    own = folder / "apt"
    (own / "lists/partial").mkdir(parents=True, exist_ok=True)
    (own / "parts").mkdir(exist_ok=True)
    for file in pathlib.Path("/etc/apt").glob("**/*.*"):
        # Other archives than Debian's may have no sources.
        if file.suffix in (".list", ".sources") and "/debian" in file.read_text():
            text = re.sub(r"(?m)^deb ", "deb-src ", file.read_text())
            (own / "parts" / file.name).write_text(re.sub(r"(?m)^Types:.*$", "Types: deb-src", text))
    options = {
        "Dir::Etc::sourcelist": "/dev/null",
        "Dir::Etc::sourceparts": own / "parts",
        "Dir::State::lists": own / "lists",
    }
    return [word for name, value in options.items() for word in ("-o", f"{name}={value}")]


def install(folder, _suite):
    site = folder / "site"
    if (site / "test").exists():
        return
    for program in ("apt-get", "dpkg", "unshare"):
        Absent.unless_program(program)
    log = folder / "install.log"
    install_step(["apt-get", "install", "--simulate", "--no-install-recommends", "redmine", "redmine-mysql"], log)
    packages = re.findall(r"^Inst (\S+)", log.read_text(), re.M)
    install_step(["apt-get", "download", *packages], log, cwd=folder)
    for archive in folder.glob("*.deb"):
        install_step(["dpkg", "-x", archive, folder / "tree"], log)
    own = sources(folder)
    install_step(["apt-get", *own, "update"], log)
    install_step(["apt-get", *own, "source", "--download-only", "redmine"], folder / "source.log", cwd=folder)
    for archive in folder.glob("redmine_*.orig.tar.*"):
        shutil.unpack_archive(archive, folder)
    shutil.rmtree(site, ignore_errors=True)
    shutil.copytree(folder / "tree/usr/share/redmine", site, symlinks=True)
    for link in ("Gemfile.lock", "instances", "config/database.yml"):
        (site / link).unlink(missing_ok=True)
    for name in ("tmp", "log", "files"):
        (site / name).mkdir(exist_ok=True)
    # Debian's has a folder for each of several instances; here it is one.
    (site / "config/multitenancy_environment.rb").write_text(
        "module ::Redmine\n  def self.root\n    Rails.root\n  end\n\n  def self.tenant?\n    false\n  end\nend\n"
    )
    (site / "Gemfile.local").write_text('gem "mysql2"\n')
    (site / "config/initializers/secret_token.rb").write_text(
        "RedmineApp::Application.config.secret_key_base = '0123456789abcdef' * 4\n"
    )
    shutil.copytree(next(folder.glob("redmine-*/test")), site / "test")


def run(folder, server, suite):
    create_database(server, "redmine")
    (folder / "site/config/database.yml").write_text(
        f"test:\n  adapter: mysql2\n  database: redmine\n  host: {server.host}\n  port: {server.port}\n"
        "  username: root\n  encoding: utf8mb4\n"
    )
    environment = {"RAILS_ENV": "test", "LANG": "C.UTF-8", "HOME": str(folder), "PARALLEL_WORKERS": "1"}
    outcomes = {}
    steps = {"bundle": ["bundle", "install", "--local"], "migrations": ["rake", "db:migrate"]}
    for name, arguments in steps.items():
        status = command(alone(folder, *arguments), folder / f"{name}.log", env=environment)
        if name == "bundle" and status != 0:
            raise Absent(f"the packages do not fit together, see {folder}/bundle.log")
        outcomes[name] = "passed" if status == 0 else "failed"
    log = folder / "run.log"
    command(alone(folder, "ruby", "bin/rails", "test", "-v", *suite.arguments), log, env=environment)
    for name, result in re.findall(r"^(\S+#\S+) = [\d.]+ s = (\S)$", log.read_text(errors="replace"), re.M):
        outcomes[name] = {".": "passed", "S": "skipped"}.get(result, "failed")
    return outcomes
