"""mysqlclient: the C client library under Python, text protocol."""
import sys

import acceptance

try:
    import MySQLdb
except ImportError:
    sys.exit(77)


def connect(database):
    options = {"unix_socket": acceptance.SOCKET} if acceptance.SOCKET else {}
    if acceptance.TLS:
        options["ssl_mode"] = "REQUIRED"
    if database:
        options["database"] = database
    connection = MySQLdb.connect(
        host=acceptance.HOST, port=acceptance.PORT, user=acceptance.USER, password=acceptance.PASSWORD,
        charset="utf8mb4", autocommit=True, **options)
    connection.ping()
    return connection


acceptance.run("mysqlclient", connect, MySQLdb.MySQLError)
