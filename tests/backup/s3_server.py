#!/usr/bin/env python3
"""A small store with the protocol of Amazon S3 on 127.0.0.1, for tests: objects in memory, signatures checked, failures on purpose.

    s3_server.py PORT [--faults SHARE] [--seed N] [--certificate FILE]

The key is `test`, its secret `secret`, the region us-east-1; buckets are made by their first use. Of `--faults` a share of all requests
is answered by 503 SlowDown, by a connection that ends, or by a body that is cut off. `--certificate` names a file with a certificate and its key, for https. `GET /` without a signature tells what there is,
and `GET /away?SECONDS` makes the store end every connection for so long. Called by `objects.py` and `archive_objects.py`.
"""

import argparse
import hashlib
import hmac
import json
import random
import re
import ssl
import threading
import time
import urllib.parse
import uuid
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from xml.sax.saxutils import escape

KEY, SECRET, REGION = "test", b"secret", "us-east-1"
# Few, so that lists come in several pages.
LISTED = 20


class Store:
    def __init__(self, share, seed):
        self.objects, self.uploads, self.lock = {}, {}, threading.Lock()
        self.share, self.random = share, random.Random(seed)
        self.requests, self.faults, self.largest, self.away_until = 0, 0, 0, 0

    def fault(self):
        with self.lock:
            self.requests += 1
            if self.random.random() >= self.share:
                return None
            self.faults += 1
            return self.random.choice(["busy", "closed", "cut"])


def signature_fault(handler, body):
    """What is wrong with the signature, by its specification."""
    given = re.fullmatch(
        r"AWS4-HMAC-SHA256 Credential=([^/]+)/(\d{8})/([^/]+)/s3/aws4_request, SignedHeaders=([^,]+), Signature=([0-9a-f]{64})",
        handler.headers.get("authorization", ""),
    )
    if not given:
        return "AccessDenied"
    key, day, region, names, signature = given.groups()
    if key != KEY:
        return "InvalidAccessKeyId"
    if region != REGION:
        return "AuthorizationHeaderMalformed"
    digest = hashlib.sha256(body).hexdigest()
    if handler.headers["x-amz-content-sha256"] != digest:
        return "XAmzContentSHA256Mismatch"
    path, _, query = handler.path.partition("?")
    parameters = sorted(urllib.parse.parse_qsl(query, keep_blank_values=True))
    query = "&".join(f"{urllib.parse.quote(name, safe='')}={urllib.parse.quote(value, safe='')}" for name, value in parameters)
    path = urllib.parse.quote(urllib.parse.unquote(path), safe="/~")
    names_of = names.split(";")
    if not {"host", "x-amz-content-sha256", "x-amz-date"} <= set(names_of):
        return "AccessDenied"
    lines = "".join(f"{name}:{handler.headers[name].strip()}\n" for name in names_of)
    canonical = "\n".join([handler.command, path, query, lines, names, digest])
    moment = handler.headers["x-amz-date"]
    scope = f"{day}/{region}/s3/aws4_request"
    text = "\n".join(["AWS4-HMAC-SHA256", moment, scope, hashlib.sha256(canonical.encode()).hexdigest()])
    secret = b"AWS4" + SECRET
    for part in [day, region, "s3", "aws4_request", text]:
        secret = hmac.new(secret, part.encode(), hashlib.sha256).digest()
    return None if secret.hex() == signature else "SignatureDoesNotMatch"


def refusal(status, code):
    return status, f"<?xml version='1.0'?><Error><Code>{code}</Code><Message>by the test</Message></Error>".encode(), {}


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *_):
        pass

    def reply(self, status, body=b"", cut=False, **headers):
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name.replace("_", "-"), value)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body[: len(body) // 2] if cut else body)
        self.close_connection = self.close_connection or cut

    def refuse(self, status, code):
        self.reply(*refusal(status, code)[:2])

    def serve(self):
        store = self.server.store
        body = self.rfile.read(int(self.headers.get("content-length", 0)))
        store.largest = max(store.largest, len(body))
        if self.path == "/":
            keys = ("requests", "faults", "largest")
            told = {key: getattr(store, key) for key in keys} | {"uploads": len(store.uploads), "objects": {}}
            told["objects"] = {name: len(content) for name, content in store.objects.items()}
            return self.reply(200, json.dumps(told).encode())
        if self.path.startswith("/away?"):
            store.away_until = time.time() + float(self.path.partition("?")[2])
            return self.reply(200)
        if time.time() < store.away_until:
            self.close_connection = True
            return None
        fault = store.fault()
        if fault == "busy":
            return self.refuse(503, "SlowDown")
        if fault == "closed":
            self.close_connection = True
            return None
        wrong = signature_fault(self, body)
        if wrong:
            return self.refuse(403 if "Malformed" not in wrong else 400, wrong)
        path, _, query = self.path.partition("?")
        asked = dict(urllib.parse.parse_qsl(query, keep_blank_values=True))
        name = urllib.parse.unquote(path)
        with store.lock:
            status, content, headers = self.answer(store, name, asked, body)
        # Outside of the lock: who reads slowly does not stop the others.
        return self.reply(status, content, fault == "cut" and status < 300, **headers)

    def answer(self, store, name, asked, body):
        tag = lambda content: f'"{hashlib.md5(content).hexdigest()}"'
        upload = store.uploads.get(asked.get("uploadId"))
        if "uploadId" in asked and upload is None:
            return refusal(404, "NoSuchUpload")
        if self.command == "POST" and "uploads" in asked:
            number = uuid.uuid4().hex
            store.uploads[number] = {}
            return 200, f"<R><UploadId>{number}</UploadId></R>".encode(), {}
        if self.command == "PUT" and upload is not None:
            upload[int(asked["partNumber"])] = body
            return 200, b"", {"ETag": tag(body)}
        if self.command == "POST":
            listed = re.findall(r"<PartNumber>(\d+)</PartNumber><ETag>(?:&quot;|\")(\w+)", body.decode())
            known = {str(number): tag(part).strip('"') for number, part in upload.items()}
            if any(known.get(number) != of for number, of in listed):
                return refusal(400, "InvalidPart")
            if any(len(upload[int(number)]) < 5 << 20 for number, _ in listed[:-1]):
                return refusal(400, "EntityTooSmall")
            store.objects[name] = b"".join(upload[int(number)] for number, _ in listed)
            del store.uploads[asked["uploadId"]]
            return 200, b"<R/>", {}
        if self.command == "DELETE":
            if upload is not None:
                del store.uploads[asked["uploadId"]]
            else:
                store.objects.pop(name, None)
            return 204, b"", {}
        if self.command == "PUT":
            store.objects[name] = body
            return 200, b"", {"ETag": tag(body)}
        if asked.get("list-type") == "2":
            return self.listed(store, name, asked)
        content = store.objects.get(name)
        if content is None:
            return refusal(404, "NoSuchKey")
        if self.headers.get("if-match", tag(content)) != tag(content):
            return refusal(412, "PreconditionFailed")
        begin = re.fullmatch(r"bytes=(\d+)-", self.headers.get("range", ""))
        if begin:
            return 206, content[int(begin.group(1)) :], {"ETag": tag(content)}
        return 200, content, {"ETag": tag(content)}

    def listed(self, store, bucket, asked):
        prefix = bucket.rstrip("/") + "/" + asked.get("prefix", "")
        keys = sorted(name for name in store.objects if name.startswith(prefix) and name > asked.get("continuation-token", ""))
        page, more = keys[:LISTED], len(keys) > LISTED
        entry = lambda name: f"<Contents><Key>{escape(name[len(bucket.rstrip('/')) + 1:])}</Key><Size>{len(store.objects[name])}</Size></Contents>"
        token = f"<NextContinuationToken>{escape(page[-1])}</NextContinuationToken>" if more else ""
        text = f"<R><IsTruncated>{str(more).lower()}</IsTruncated>{''.join(map(entry, page))}{token}</R>"
        return 200, text.encode(), {}

    do_GET = do_HEAD = do_PUT = do_POST = do_DELETE = serve


class Server(ThreadingHTTPServer):
    def handle_error(self, request, client_address):
        """A client that has read enough closes the connection."""


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("port", type=int)
    parser.add_argument("--faults", type=float, default=0)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--certificate")
    options = parser.parse_args()
    server = Server(("127.0.0.1", options.port), Handler)
    server.store = Store(options.faults, options.seed)
    if options.certificate:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(options.certificate)
        server.socket = context.wrap_socket(server.socket, server_side=True)
    server.serve_forever()


if __name__ == "__main__":
    main()
