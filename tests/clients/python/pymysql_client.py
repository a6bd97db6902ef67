"""PyMySQL: pure Python, text protocol."""
import ssl
import sys

import acceptance

try:
    import pymysql
except ImportError:
    sys.exit(77)


def connect(database):
    options = {"unix_socket": acceptance.SOCKET} if acceptance.SOCKET else {}
    if acceptance.TLS:
        context = ssl.create_default_context()
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
        options["ssl"] = context
    connection = pymysql.connect(
        host=acceptance.HOST, port=acceptance.PORT, user=acceptance.USER, password=acceptance.PASSWORD,
        database=database, autocommit=True, **options)
    if acceptance.TLS:
        acceptance.check("TLS in use", connection._secure, True)
    connection.ping()
    return connection


acceptance.run("pymysql", connect, pymysql.err.MySQLError)
