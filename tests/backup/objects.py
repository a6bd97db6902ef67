#!/usr/bin/env python3
"""Backups as objects of a store, read back and restored, while the store fails now and then.

    objects.py [--count 10] [--faults 0.1] [--ballast 40] [--tls]
                                                            against s3_server.py, which checks every signature
    objects.py --endpoint URL --bucket NAME                 against another store; the variables AWS_* say who asks

A full backup of writers whose commits are known (`oracle.py`) and `--count` increments go to the store, each read as the base of
the next; then the chain is verified and restored from there. `--ballast` megabytes make the full backup one of several parts.
Refusals are tried as well: a name that is there, a wrong secret, no such object, a command that is killed in the midst of its
upload. The server is `$EVENKEEL_PROGRAM` (target/release/evenkeel). Needs pymysql. Exit status 1: something was wrong.
"""

import argparse
import json
import os
import random
import signal
import ssl
import subprocess
import sys
import time
import urllib.request

from place import begun, program, told

HERE = os.path.dirname(os.path.abspath(__file__))


class Store:
    def __init__(self, options):
        self.process, self.endpoint = None, options.endpoint
        if not options.endpoint:
            self.endpoint = f"http://127.0.0.1:{options.port + 2}"
            words = [sys.executable, f"{HERE}/s3_server.py", str(options.port + 2), "--faults", str(options.faults)]
            words += ["--seed", str(options.seed)]
            if options.tls:
                words += ["--certificate", self.certificate(os.path.abspath(options.root))]
            self.process = subprocess.Popen(words)
            os.environ |= {"AWS_ACCESS_KEY_ID": "test", "AWS_SECRET_ACCESS_KEY": "secret", "AWS_REGION": "us-east-1"}
        os.environ["AWS_ENDPOINT_URL"] = self.endpoint
        self.state()

    def certificate(self, folder):
        """One that is its own authority, as `AWS_CA_BUNDLE` names it; with its key."""
        file, self.endpoint = f"{folder}/certificate.pem", self.endpoint.replace("http:", "https:")
        making = ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-subj", "/CN=127.0.0.1", "-addext", "subjectAltName=IP:127.0.0.1"]
        making += ["-addext", "basicConstraints=critical,CA:FALSE", "-keyout", file, "-out", f"{file}.public"]
        subprocess.run(making, check=True, capture_output=True)
        with open(file, "ab") as both, open(f"{file}.public", "rb") as public:
            both.write(public.read())
        os.environ["AWS_CA_BUNDLE"] = f"{file}.public"
        return file

    def state(self):
        """What the test's own store says of itself."""
        for _ in range(100 if self.process else 0):
            try:
                trusted = ssl.create_default_context(cafile=os.environ.get("AWS_CA_BUNDLE"))
                with urllib.request.urlopen(self.endpoint, context=trusted if "https" in self.endpoint else None) as answer:
                    return json.load(answer)
            except OSError:
                time.sleep(0.1)
        return {}

    def stop(self):
        if self.process:
            self.process.kill()


def run(options):
    place, oracle = begun(options)
    store = Store(options)
    folder = f"s3://{options.bucket}/{options.prefix}"
    place.server.query("CREATE TABLE oracle.ballast (id INT AUTO_INCREMENT PRIMARY KEY, filler VARBINARY(4000))")
    cursor = place.server.connect("oracle").cursor()
    for _ in range(options.ballast):
        rows = ", ".join(f"(x'{random.randbytes(4000).hex()}')" for _ in range(250))
        cursor.execute(f"INSERT INTO ballast (filler) VALUES {rows}")

    def back_up(name, *words):
        return told("backup", "--dsn", place.dsn(), "--to", f"{folder}/{name}", "--compress", *words)

    began, chain = time.time(), []
    for number in range(options.count + 1):
        least = oracle.versions()
        base = ["--incremental-from", chain[-1]] if chain else []
        code, said = back_up(f"{number:03}.ekb", *base)
        if code != 0:
            place.fault(f"backup {number} failed: {said}")
            break
        chain.append(f"{folder}/{number:03}.ekb")
    seconds = time.time() - began
    oracle.stop()

    for name in chain:
        code, said = told("verify", name)
        if code != 0:
            place.fault(f"verify {name} ends with {code}: {said}")
    place.check(oracle, "the whole chain", chain, least=least)
    checks = [
        ("a name that is there", back_up("000.ekb"), "is there already"),
        ("no such object", told("verify", f"{folder}/none.ekb"), "no such object"),
        ("no key", told("verify", f"s3://{options.bucket}"), "s3://BUCKET/KEY"),
    ]
    secret = os.environ.get("AWS_SECRET_ACCESS_KEY", "")
    os.environ["AWS_SECRET_ACCESS_KEY"] = "another"
    if store.process:
        checks.append(("a wrong secret", back_up("wrong.ekb"), "AWS_SECRET_ACCESS_KEY"))
    os.environ["AWS_SECRET_ACCESS_KEY"] = secret
    for what, (code, said), expected in checks:
        if code == 0 or expected not in said:
            place.fault(f"{what}: {code}, {said}")
    words = [program(), "backup", "--dsn", place.dsn(), "--to", f"{folder}/killed.ekb", "--quiet"]
    killed = subprocess.Popen(words, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    time.sleep(0.5)
    killed.send_signal(signal.SIGKILL)
    if killed.wait() != 0 and told("verify", f"{folder}/killed.ekb")[0] == 0:
        place.fault("a backup that was killed is whole")
    state = store.state()
    if state:
        told_of = f"{state['requests']} requests, {state['faults']} failed on purpose, the largest of {state['largest'] / 1e6:.1f} MB; "
        size = sum(length for name, length in state["objects"].items())
    else:
        told_of, size = "", 0
    store.stop()
    print(
        f"{len(chain)} backups of {size / 1e6:.0f} MB in {seconds:.0f} s, {told_of}"
        f"{sum(oracle.versions())} transactions, {place.faults} wrong"
    )
    return place.end()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--root", default="objects-data")
    parser.add_argument("--port", type=int, default=7421)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--count", type=int, default=10)
    parser.add_argument("--ballast", type=int, default=40)
    parser.add_argument("--faults", type=float, default=0.1)
    parser.add_argument("--tls", action="store_true")
    parser.add_argument("--endpoint")
    parser.add_argument("--bucket", default="backups")
    parser.add_argument("--prefix", default="shop")
    options = parser.parse_args()
    random.seed(options.seed)
    sys.exit(run(options))


main()
