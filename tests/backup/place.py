"""A server under the oracle's writers, its backup files and its archive, in one directory. Used by `run.py`, `objects.py` and
`archive_objects.py`."""

import os
import shutil
import subprocess

from oracle import Oracle
from servers import Server


def program():
    return os.environ.get("EVENKEEL_PROGRAM", "target/release/evenkeel")


def told(*words):
    done = subprocess.run([program(), *words], capture_output=True, text=True)
    return done.returncode, done.stdout + done.stderr


class Place:
    """A server, its backup files and its archive, in one directory."""

    def __init__(self, options, more=()):
        self.options, self.root = options, os.path.abspath(options.root)
        shutil.rmtree(self.root, ignore_errors=True)
        os.makedirs(os.path.join(self.root, "archive"))
        self.chain, self.count, self.faults = [], 0, 0
        self.archive = getattr(options, "archive", None) or f"{self.root}/archive"
        archived = [f"--log-archive-dir={self.archive}"]
        self.server = Server(f"data=evenkeel:{options.port}", self.root, [*archived, *more])
        self.server.start()

    def fault(self, text):
        self.faults += 1
        print(f"WRONG: {text}", flush=True)

    def dsn(self):
        return f"mysql://root@127.0.0.1:{self.options.port}"

    def backup_words(self):
        self.count += 1
        path = f"{self.root}/{self.count:03}.ekb"
        base = ["--incremental-from", self.chain[-1]] if self.chain else []
        return path, ["backup", "--dsn", self.dsn(), "--to-file", path, "--compress", *base]

    def back_up(self):
        path, words = self.backup_words()
        code, said = told(*words)
        if code != 0:
            self.fault(f"a backup failed: {said}")
            return
        self.chain.append(path)

    def restored(self, chain, *more):
        """A server on what is restored, or nothing."""
        to = f"{self.root}/restored"
        shutil.rmtree(to, ignore_errors=True)
        increments = [word for path in chain[1:] for word in ("--increment", path)]
        code, said = told("restore", "--from", chain[0], *increments, "--to", to, *more)
        if code != 0:
            self.fault(f"restore {' '.join(more)} failed: {said}")
            return None
        code, said = told("verify", to)
        if code != 0:
            self.fault(f"what was restored is damaged: {said}")
        server = Server(f"restored=evenkeel:{self.options.port + 1}", self.root)
        server.start()
        return server

    def check(self, oracle, text, chain, *words, **asked):
        """Whether what is restored of these files is what the writers know."""
        server = self.restored(chain, *words)
        if server is None:
            return
        for fault in oracle.faults(server, **asked):
            self.fault(f"{text}: {fault}")
        server.kill()

    def end(self):
        self.server.stop()
        shutil.rmtree(self.root, ignore_errors=True)
        return self.faults > 0


def begun(options, *more):
    """A place with its writers."""
    place = Place(options, more)
    return place, Oracle(place.server)
