"""A browser of phpMyAdmin: its cookies, the token of its session, and the outcome of each page and form."""

import html
import http.cookiejar
import json
import re
import urllib.error
import urllib.parse
import urllib.request
import uuid

DATABASE = "pma_shop"


class Failed(Exception):
    pass


class Visit:
    """One browser: its cookies, the token of its session, and the outcomes so far."""

    def __init__(self, address, log):
        self.address = address
        self.log = open(log, "w")
        self.outcomes = {}
        self.token = ""
        cookies = urllib.request.HTTPCookieProcessor(http.cookiejar.CookieJar())
        self.browser = urllib.request.build_opener(cookies)

    def fetch(self, route, fields=None, parts=None):
        """The text of a page; `fields` make it a form that is sent, `parts` one with files."""
        query = {"route": route.split("?")[0], "server": 1, "lang": "en"}
        query.update(urllib.parse.parse_qsl(route.partition("?")[2]))
        data, headers = None, {}
        if fields is not None or parts is not None:
            form = [("token", self.token), ("server", "1"), *(fields or [])]
            if parts is None:
                data = urllib.parse.urlencode(form).encode()
            else:
                edge = uuid.uuid4().hex
                headers["Content-Type"] = f"multipart/form-data; boundary={edge}"
                blocks = [f'--{edge}\r\nContent-Disposition: form-data; name="{k}"\r\n\r\n{v}\r\n' for k, v in form]
                for name, filename, text in parts:
                    head = f'Content-Disposition: form-data; name="{name}"; filename="{filename}"'
                    blocks.append(f"--{edge}\r\n{head}\r\nContent-Type: text/plain\r\n\r\n{text}\r\n")
                data = ("".join(blocks) + f"--{edge}--\r\n").encode()
        request = urllib.request.Request(self.address + "?" + urllib.parse.urlencode(query), data, headers)
        try:
            with self.browser.open(request, timeout=120) as answer:
                text = answer.read().decode(errors="replace")
        except urllib.error.HTTPError as error:
            raise Failed(f"status {error.code}: {plain(error.read().decode(errors='replace'))[:300]}")
        token = re.search(r'name="token" value="([0-9a-f]+)"', text) or re.search(r'token:"([0-9a-f]+)"', text)
        if token:
            self.token = token.group(1)
        return text

    def step(self, name, route, *shows, fields=None, parts=None, alerts=True):
        """`shows` are texts that the page must have."""
        try:
            text = self.fetch(route, fields, parts)
            if text.startswith("{"):
                answer = json.loads(text)
                if not answer.get("success"):
                    raise Failed(plain(str(answer.get("error") or answer.get("message") or answer))[:400])
                text = " ".join(str(value) for value in answer.values())
            text = re.sub(r"<noscript>.*?</noscript>", "", text, flags=re.S)
            for sign in ["alert alert-danger"] * alerts + [
                "MySQL said",
                "Fatal error",
                "Uncaught",
                "mysqli_sql_exception",
            ]:
                if sign in text:
                    raise Failed(plain(text[text.index(sign) :])[:400])
            for shown in shows:
                if shown not in text and shown not in plain(text):
                    raise Failed(f"does not show {shown!r}: {plain(text)[-300:]}")
            self.outcome(name, None)
            return text
        except (Failed, OSError, ValueError) as failure:
            self.outcome(name, str(failure))
            return ""

    def outcome(self, name, failure):
        self.outcomes[name] = "failed" if failure else "passed"
        print(f"not ok {name} -- {failure}" if failure else f"ok {name}", file=self.log, flush=True)

    def sql(self, name, text, *shows, database=DATABASE):
        ajax = [
            ("ajax_request", "1"),
            ("db", database),
            ("sql_query", text),
            ("sql_delimiter", ";"),
            ("is_js_confirmed", "1"),
        ]
        return self.step(name, "/import", *shows, fields=[*ajax, ("show_query", "1")])


def plain(text):
    """The text of a page without its markup."""
    return re.sub(r"\s+", " ", html.unescape(re.sub(r"<[^>]*>", " ", text.replace("&nbsp;", " "))))
