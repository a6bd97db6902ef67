"""What every Python driver must be able to do; each driver's script says how it connects.

Every check compares with a value written here, so a difference names the column and both values.
"""
import datetime
import decimal
import os
import sys

HOST = os.environ["EVENKEEL_HOST"]
PORT = int(os.environ["EVENKEEL_PORT"])
USER = os.environ["EVENKEEL_USER"]
PASSWORD = os.environ["EVENKEEL_PASSWORD"]
TLS = os.environ["EVENKEEL_TLS"] == "1"
SOCKET = os.environ["EVENKEEL_SOCKET"]

COLUMNS = [
    ("c_tiny", "TINYINT", -128),
    ("c_utiny", "TINYINT UNSIGNED", 255),
    ("c_small", "SMALLINT", -32768),
    ("c_medium", "MEDIUMINT", 8388607),
    ("c_int", "INT", -2147483648),
    ("c_uint", "INT UNSIGNED", 4294967295),
    ("c_big", "BIGINT", -9223372036854775808),
    ("c_ubig", "BIGINT UNSIGNED", 18446744073709551615),
    ("c_decimal", "DECIMAL(30,10)", decimal.Decimal("-12345678901234567890.0123456789")),
    ("c_float", "FLOAT", 1.5),
    ("c_double", "DOUBLE", -2.2250738585072014e-308),
    ("c_char", "CHAR(10)", "größe"),
    ("c_varchar", "VARCHAR(100)", "it's \"quoted\" \\ and \U0001f600"),
    ("c_text", "TEXT", "line\nbreak\ttab\0nul"),
    ("c_binary", "BINARY(4)", b"\x00\xff'\\"),
    ("c_varbinary", "VARBINARY(100)", bytes(range(100))),
    ("c_blob", "BLOB", bytes(range(256)) * 3),
    ("c_date", "DATE", datetime.date(2024, 2, 29)),
    ("c_time", "TIME(6)", datetime.timedelta(hours=23, minutes=59, seconds=58, microseconds=7)),
    ("c_datetime", "DATETIME(6)", datetime.datetime(9999, 12, 31, 23, 59, 58, 123456)),
    ("c_timestamp", "TIMESTAMP NULL", datetime.datetime(2024, 2, 29, 12, 34, 56)),
    ("c_year", "YEAR", 2155),
    ("c_enum", "ENUM('small','medium','large')", "medium"),
    ("c_set", "SET('a','b','c')", "a,c"),
]

_count = 0


def check(what, actual, expected):
    global _count
    _count += 1
    if actual != expected:
        print(f"{what}: expected {expected!r}, got {actual!r}", file=sys.stderr)
        sys.exit(1)


def normal(value):
    """Drivers differ in the Python type of a few columns; the content must be the same."""
    if isinstance(value, (bytearray, memoryview)):
        return bytes(value)
    if isinstance(value, (set, frozenset)):
        return ",".join(sorted(value))
    return value


def expect_error(error_type, number, sqlstate, run):
    try:
        run()
    except error_type as error:
        check("error number", error.args[0] if isinstance(error.args[0], int) else error.errno, number)
        state = getattr(error, "sqlstate", None)
        if state is not None:
            check("SQLSTATE", state, sqlstate)
        return
    check("an error", None, number)


def run(name, connect, error_type, make_cursor=None, placeholder="%s", without=()):
    """`connect(database)` opens a connection with autocommit on; `make_cursor(connection)` a cursor.

    `without` names columns of types that the driver itself cannot read."""
    COLUMNS[:] = [column for column in COLUMNS if column[0] not in without]
    make_cursor = make_cursor or (lambda connection: connection.cursor())
    database = f"client_{name}"
    connection = connect(None)
    plain = connection.cursor()
    plain.execute(f"DROP DATABASE IF EXISTS {database}")
    plain.execute(f"CREATE DATABASE {database}")
    plain.close()
    connection.close()

    connection = connect(database)
    plain = connection.cursor()
    plain.execute("SELECT DATABASE()")
    check("current database", plain.fetchone()[0], database)
    types_in_and_out(connection, plain, make_cursor, placeholder)
    transactions(connection, plain, connect, database, make_cursor, placeholder)
    errors(plain, error_type)
    many_rows(connection, plain, make_cursor, placeholder)
    plain.execute(f"DROP DATABASE {database}")
    connection.close()
    print(f"{name}: {_count} checks")


def types_in_and_out(connection, plain, make_cursor, placeholder):
    definitions = ", ".join(f"{name} {kind}" for name, kind, _ in COLUMNS)
    plain.execute(f"CREATE TABLE types (id INT AUTO_INCREMENT PRIMARY KEY, {definitions})")
    names = ", ".join(name for name, _, _ in COLUMNS)
    marks = ", ".join([placeholder] * len(COLUMNS))
    cursor = make_cursor(connection)
    cursor.execute(f"INSERT INTO types ({names}) VALUES ({marks})", tuple(value for _, _, value in COLUMNS))
    check("affected rows", cursor.rowcount, 1)
    check("last insert id", cursor.lastrowid, 1)
    cursor.execute(f"INSERT INTO types ({names}) VALUES ({marks})", (None,) * len(COLUMNS))
    check("second insert id", cursor.lastrowid, 2)
    for description, reader in (("text", plain), ("driver", make_cursor(connection))):
        reader.execute(f"SELECT {names} FROM types WHERE id = {placeholder if reader is not plain else '%s'}", (1,))
        row = reader.fetchone()
        for (name, _, expected), actual in zip(COLUMNS, row):
            check(f"{name} by {description}", normal(actual), expected)
        reader.fetchall()
        reader.execute(f"SELECT {names} FROM types WHERE id = {placeholder if reader is not plain else '%s'}", (2,))
        check(f"NULLs by {description}", set(reader.fetchone()), {None})
        reader.fetchall()
    cursor.close()


def transactions(connection, plain, connect, database, make_cursor, placeholder):
    plain.execute("CREATE TABLE ledger (id INT PRIMARY KEY, amount INT NOT NULL)")
    cursor = make_cursor(connection)
    plain.execute("BEGIN")
    cursor.execute(f"INSERT INTO ledger VALUES ({placeholder}, {placeholder})", (1, 10))
    connection.rollback()
    plain.execute("SELECT COUNT(*) FROM ledger")
    check("rows after rollback", plain.fetchone()[0], 0)
    plain.execute("START TRANSACTION")
    cursor.execute(f"INSERT INTO ledger VALUES ({placeholder}, {placeholder})", (1, 10))
    other = connect(database)
    reader = other.cursor()
    reader.execute("SELECT COUNT(*) FROM ledger")
    check("uncommitted rows seen by others", reader.fetchone()[0], 0)
    connection.commit()
    reader.execute("SELECT amount FROM ledger WHERE id = 1")
    check("committed row seen by others", reader.fetchone()[0], 10)
    reader.close()
    other.close()
    cursor.execute(f"UPDATE ledger SET amount = amount + {placeholder} WHERE id = {placeholder}", (5, 1))
    check("updated rows", cursor.rowcount, 1)
    cursor.execute(f"DELETE FROM ledger WHERE id = {placeholder}", (1,))
    check("deleted rows", cursor.rowcount, 1)
    cursor.close()


def errors(plain, error_type):
    plain.execute("CREATE TABLE unique_names (name VARCHAR(20) NOT NULL UNIQUE)")
    plain.execute("INSERT INTO unique_names VALUES ('a')")
    duplicate = "INSERT INTO unique_names VALUES ('a')"
    expect_error(error_type, 1062, "23000", lambda: plain.execute(duplicate))
    expect_error(error_type, 1146, "42S02", lambda: plain.execute("SELECT * FROM absent"))
    expect_error(error_type, 1064, "42000", lambda: plain.execute("SELEC 1"))
    expect_error(error_type, 1054, "42S22", lambda: plain.execute("SELECT absent FROM unique_names"))
    expect_error(error_type, 1048, "23000", lambda: plain.execute("INSERT INTO unique_names VALUES (NULL)"))
    plain.execute("SELECT COUNT(*) FROM unique_names")
    check("rows after errors", plain.fetchone()[0], 1)


def many_rows(connection, plain, make_cursor, placeholder):
    plain.execute("CREATE TABLE many (id INT PRIMARY KEY, filler VARCHAR(200))")
    cursor = make_cursor(connection)
    for start in range(0, 1000, 100):
        rows = ", ".join(f"({number}, REPEAT('x', 200))" for number in range(start, start + 100))
        plain.execute(f"INSERT INTO many VALUES {rows}")
    cursor.execute(f"SELECT id, filler FROM many WHERE id >= {placeholder} ORDER BY id", (0,))
    rows = cursor.fetchall()
    check("row count", len(rows), 1000)
    check("row order", [row[0] for row in rows], list(range(1000)))
    check("filler", {normal(row[1]) for row in rows}, {"x" * 200})
    cursor.close()
