"""mysql-connector-python in pure Python: prepared statements in the binary protocol."""
import sys

import acceptance

try:
    import mysql.connector
except ImportError:
    sys.exit(77)


def connect(database):
    options = {"unix_socket": acceptance.SOCKET} if acceptance.SOCKET else {}
    connection = mysql.connector.connect(
        host=acceptance.HOST, port=acceptance.PORT, user=acceptance.USER, password=acceptance.PASSWORD,
        database=database, autocommit=True, use_pure=True, ssl_disabled=not acceptance.TLS,
        connection_timeout=20, **options)
    connection.ping()
    return connection


# The driver reads YEAR as a string when it comes in the binary protocol.
acceptance.run("connector", connect, mysql.connector.Error, without=("c_year",),
               make_cursor=lambda connection: connection.cursor(prepared=True))
