"""Django's own test suite, as its source distribution carries it."""

import re

from support import command, python_environment, source_distribution

VERSION = "5.2.19"
PACKAGES = ["mysqlclient>=2.2", "asgiref>=3.8", "sqlparse>=0.3", "jinja2", "tblib"]

# Collations that the suite names and that stand in for those of utf8mb4 that are absent.
SETTINGS = '''
import os
from django.db.backends.mysql.features import DatabaseFeatures


def database(name):
    return {
        "ENGINE": "django.db.backends.mysql",
        "HOST": os.environ["EVENKEEL_HOST"],
        "PORT": os.environ["EVENKEEL_PORT"],
        "USER": "root",
        "NAME": name,
        "TEST": {"CHARSET": "utf8mb4"},
    }


DATABASES = {"default": database("django_one"), "other": database("django_two")}
SECRET_KEY = "of tests"
PASSWORD_HASHERS = ["django.contrib.auth.hashers.MD5PasswordHasher"]
DEFAULT_AUTO_FIELD = "django.db.models.AutoField"
USE_TZ = False
DatabaseFeatures.test_collations = {
    "ci": "utf8mb4_general_ci",
    "non_default": "utf8mb4_unicode_ci",
    "swedish_ci": "utf8mb4_unicode_520_ci",
    "virtual": "utf8mb4_unicode_ci",
}
'''

# `name (path.of.Class.name)`, a docstring's line perhaps, what the test itself prints, ` ... ok`.
NAME = re.compile(r"^(\w+) \(([\w.]+)\)")
OUTCOMES = {
    "ok": "passed",
    "FAIL": "failed",
    "ERROR": "failed",
    "skipped": "skipped",
    "expected failure": "skipped",
    "unexpected success": "passed",
}
OUTCOME = re.compile(r"\.\.\. (ok|FAIL|ERROR|skipped|expected failure|unexpected success)\b")


def install(folder, _suite):
    python = python_environment(folder, PACKAGES)
    source = source_distribution(folder, python, "django", VERSION)
    command([python, "-m", "pip", "install", "--quiet", "--no-deps", "-e", source], folder / "install.log")
    (source / "tests" / "evenkeel_settings.py").write_text(SETTINGS)


def run(folder, server, suite):
    python = folder / "python" / "bin" / "python"
    tests = source_distribution(folder, python, "django", VERSION) / "tests"
    log = folder / "run.log"
    options = ["--settings=evenkeel_settings", "--parallel=1", "--noinput", "-v", "2"]
    env = {"EVENKEEL_HOST": server.host, "EVENKEEL_PORT": str(server.port)}
    command([python, "runtests.py", *options, *suite.arguments], log, cwd=tests, env=env)
    return outcomes_of(log.read_text(errors="replace"))


def outcomes_of(text):
    """Each test once; the end of the log tells of failures once more, also of those in subtests and fixtures."""
    outcomes = {}
    test = None
    for line in text.splitlines():
        found = NAME.match(line)
        if found:
            test = found.group(2)
        outcome = OUTCOME.search(line)
        if outcome and test:
            outcomes.setdefault(test, OUTCOMES[outcome.group(1)])
        failed = re.match(r"^(?:FAIL|ERROR): \w+ \(([\w.]+)\)", line)
        if failed:
            outcomes[failed.group(1)] = "failed"
    return outcomes
