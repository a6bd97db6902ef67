"""What the suites share: a server with an empty database, commands with a log, lists of known failures."""

import os
import pathlib
import shutil
import signal
import socket
import subprocess
import tempfile
import time

HERE = pathlib.Path(__file__).resolve().parent
START_SECONDS = 60


class Absent(Exception):
    """A tool or package that this machine lacks; the application is skipped."""

    @staticmethod
    def unless_program(program):
        if shutil.which(program) is None:
            raise Absent(f"{program} is absent")


class Server:
    """Ours, started with an empty database and ended at the end, or the one that runs at the given address."""

    def __init__(self, folder):
        self.folder = folder
        self.process = None
        self.data = None
        self.host = "127.0.0.1"
        self.port = 0

    def __enter__(self):
        target = os.environ.get("EVENKEEL_APPLICATION_TARGET")
        if target:
            self.host, port = target.rsplit(":", 1)
            self.port = int(port)
            return self
        program = os.environ.get("EVENKEEL_PROGRAM")
        if not program:
            raise Absent("EVENKEEL_PROGRAM does not name the server's program")
        self.port = free_port()
        self.data = tempfile.mkdtemp(prefix="data-", dir=self.folder)
        with open(self.folder / "server.log", "wb") as log:
            self.process = subprocess.Popen(
                [program, "serve", "--datadir", self.data, "--port", str(self.port), "--bind-address=127.0.0.1"],
                stdout=log,
                stderr=log,
            )
        self.wait()
        return self

    def wait(self):
        """Until the server greets; a port that only accepts may still be starting."""
        deadline = time.monotonic() + START_SECONDS
        while time.monotonic() < deadline:
            if self.process.poll() is not None:
                raise RuntimeError(f"the server ended: see {self.folder}/server.log")
            try:
                with socket.create_connection((self.host, self.port), timeout=5) as connection:
                    if connection.recv(5):
                        return
            except OSError:
                time.sleep(0.05)
        raise RuntimeError(f"the server does not answer: see {self.folder}/server.log")

    def __exit__(self, *_):
        if self.process is None:
            return
        self.process.send_signal(signal.SIGTERM)
        try:
            self.process.wait(60)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        shutil.rmtree(self.data, ignore_errors=True)


def free_port():
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return listener.getsockname()[1]


def command(arguments, log, cwd=None, env=None, seconds=3600):
    """Runs a command with its output in `log`; gives the exit status, or None when its time was over."""
    whole = dict(os.environ, **(env or {}))
    with open(log, "wb") as output:
        process = subprocess.Popen(
            [str(argument) for argument in arguments],
            cwd=cwd,
            env=whole,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=output,
            start_new_session=True,
        )
        try:
            return process.wait(seconds)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()
            return None


def install_step(arguments, log, cwd=None, env=None):
    """A command of an installation; its failure means that the application is absent here."""
    if command(arguments, log, cwd, env) != 0:
        raise Absent(f"`{' '.join(str(argument) for argument in arguments)}` failed, see {log}")


def python_environment(folder, packages):
    """A virtual environment with these packages; made once."""
    python = folder / "python" / "bin" / "python"
    if not python.exists():
        install_step(["python3", "-m", "venv", folder / "python"], folder / "install.log")
    install_step([python, "-m", "pip", "install", "--quiet", *packages], folder / "install.log")
    return python


def source_distribution(folder, python, package, version):
    """The unpacked source distribution of a package of the Python index; fetched once."""
    for found in folder.glob(f"{package}-{version}*/"):
        return found
    pip = [python, "-m", "pip", "download", "--quiet", "--no-deps", "--no-binary", package]
    install_step([*pip, "-d", folder, f"{package}=={version}"], folder / "download.log")
    for archive in folder.glob(f"{package}-{version}*.tar.gz"):
        shutil.unpack_archive(archive, folder)
        archive.unlink()
    return next(iter(folder.glob(f"{package}-{version}*/")))


def create_database(server, name, *statements):
    """An empty database, and what else is to be said before a suite, through a client that speaks SQL."""
    client = shutil.which("mariadb") or shutil.which("mysql")
    if client is None:
        raise Absent("the command line client (mariadb or mysql) is absent")
    text = "; ".join([f"DROP DATABASE IF EXISTS `{name}`", f"CREATE DATABASE `{name}`", *statements])
    options = ["-h", server.host, "-P", str(server.port), "-u", "root"]
    # MariaDB's client asks for TLS unless told otherwise, MySQL's does not know the option.
    options += ["--skip-ssl"] if client.endswith("mariadb") else []
    if command([client, *options, "-e", text], server.folder / "database.log") != 0:
        raise RuntimeError(f"the database {name} cannot be made: see {server.folder}/database.log")


def scenario_outcomes(log):
    """Outcomes of a scenario script: its lines `ok NAME` and `not ok NAME -- reason`."""
    outcomes = {}
    for line in pathlib.Path(log).read_text(errors="replace").splitlines():
        if line.startswith("ok "):
            outcomes.setdefault(line[3:].strip(), "passed")
        elif line.startswith("not ok "):
            outcomes[line[7:].split(" -- ")[0].strip()] = "failed"
    return outcomes


def read_known(path):
    """Names of the tests that are known to fail: a list's lines without `#` comments, which give the reasons."""
    if not path.exists():
        return set()
    lines = (line.split(" #")[0].strip() for line in path.read_text().splitlines())
    return {line for line in lines if line and not line.startswith("#")}
