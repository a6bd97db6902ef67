import java.math.BigDecimal;
import java.math.BigInteger;
import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.Arrays;
import java.util.Objects;
import java.util.Properties;

/** MySQL Connector/J: client-side and server-side prepared statements, cursors, batches. */
public final class ConnectorJ {
    private record Column(String name, String kind, Object value, Object expected) {
        Column(String name, String kind, Object value) {
            this(name, kind, value, value);
        }
    }

    private static final byte[] BYTES = new byte[600];

    static {
        for (int index = 0; index < BYTES.length; index++) {
            BYTES[index] = (byte) index;
        }
    }

    private static final Column[] COLUMNS = {
        new Column("c_tiny", "TINYINT", -128),
        new Column("c_utiny", "TINYINT UNSIGNED", 255),
        new Column("c_small", "SMALLINT", -32768),
        new Column("c_medium", "MEDIUMINT", 8388607),
        new Column("c_int", "INT", -2147483648),
        new Column("c_uint", "INT UNSIGNED", 4294967295L),
        new Column("c_big", "BIGINT", Long.MIN_VALUE),
        new Column("c_ubig", "BIGINT UNSIGNED", new BigInteger("18446744073709551615")),
        new Column("c_decimal", "DECIMAL(30,10)", new BigDecimal("-12345678901234567890.0123456789")),
        new Column("c_float", "FLOAT", 1.5f),
        new Column("c_double", "DOUBLE", -2.25e300),
        new Column("c_char", "CHAR(10)", "größe"),
        new Column("c_varchar", "VARCHAR(100)", "it's \"quoted\" \\ and \uD83D\uDE00"),
        new Column("c_text", "TEXT", "line\nbreak\ttab\0nul"),
        new Column("c_binary", "BINARY(4)", new byte[] {0, -1, 39, 92}),
        new Column("c_blob", "BLOB", BYTES),
        new Column("c_date", "DATE", "2024-02-29", java.sql.Date.valueOf("2024-02-29")),
        new Column("c_time", "TIME", "23:59:58", java.sql.Time.valueOf("23:59:58")),
        new Column("c_datetime", "DATETIME(6)", java.time.LocalDateTime.of(2024, 12, 31, 23, 59, 58, 123456000)),
        new Column("c_enum", "ENUM('small','medium','large')", "medium"),
        new Column("c_set", "SET('a','b','c')", "a,c"),
    };

    private static int count;

    private static void check(String what, Object actual, Object expected) {
        count++;
        boolean equal = actual instanceof byte[] left && expected instanceof byte[] right
            ? Arrays.equals(left, right)
            : Objects.equals(actual, expected);
        if (!equal) {
            System.err.println(what + ": expected " + expected + ", got " + actual);
            System.exit(1);
        }
    }

    private interface Work {
        void run() throws SQLException;
    }

    private static void expectError(int number, String state, Work work) {
        try {
            work.run();
        } catch (SQLException error) {
            check("error number of " + error.getMessage(), error.getErrorCode(), number);
            check("SQLSTATE", error.getSQLState(), state);
            return;
        }
        check("an error", 0, number);
    }

    private static Connection connect(String database, boolean serverSide) throws SQLException {
        Properties properties = new Properties();
        properties.setProperty("user", System.getenv("EVENKEEL_USER"));
        properties.setProperty("password", System.getenv("EVENKEEL_PASSWORD"));
        properties.setProperty("sslMode", System.getenv("EVENKEEL_TLS").equals("1") ? "REQUIRED" : "DISABLED");
        properties.setProperty("allowPublicKeyRetrieval", "true");
        properties.setProperty("useServerPrepStmts", Boolean.toString(serverSide));
        properties.setProperty("connectionTimeZone", "UTC");
        properties.setProperty("preserveInstants", "false");
        String url = "jdbc:mysql://" + System.getenv("EVENKEEL_HOST") + ":" + System.getenv("EVENKEEL_PORT") + "/";
        return DriverManager.getConnection(url + database, properties);
    }

    private static Object read(ResultSet row, int index, Object expected) throws SQLException {
        return expected instanceof byte[] ? row.getBytes(index) : row.getObject(index, expected.getClass());
    }

    private static void typesInAndOut(Connection connection, String table) throws SQLException {
        StringBuilder definitions = new StringBuilder("id INT AUTO_INCREMENT PRIMARY KEY");
        StringBuilder names = new StringBuilder();
        StringBuilder marks = new StringBuilder();
        for (Column column : COLUMNS) {
            definitions.append(", ").append(column.name()).append(' ').append(column.kind());
            names.append(names.isEmpty() ? "" : ", ").append(column.name());
            marks.append(marks.isEmpty() ? "?" : ", ?");
        }
        try (Statement statement = connection.createStatement()) {
            statement.execute("CREATE TABLE " + table + " (" + definitions + ")");
        }
        String insert = "INSERT INTO " + table + " (" + names + ") VALUES (" + marks + ")";
        try (PreparedStatement statement = connection.prepareStatement(insert, Statement.RETURN_GENERATED_KEYS)) {
            for (int index = 0; index < COLUMNS.length; index++) {
                statement.setObject(index + 1, COLUMNS[index].value());
            }
            check("affected rows", statement.executeUpdate(), 1);
            try (ResultSet keys = statement.getGeneratedKeys()) {
                check("a generated key", keys.next(), true);
                check("the generated key", keys.getLong(1), 1L);
            }
            for (int index = 0; index < COLUMNS.length; index++) {
                statement.setObject(index + 1, null);
            }
            statement.executeUpdate();
        }
        String select = "SELECT " + names + " FROM " + table + " WHERE id = ";
        try (Statement statement = connection.createStatement(); ResultSet row = statement.executeQuery(select + "1")) {
            checkRow("text", row);
        }
        try (PreparedStatement statement = connection.prepareStatement(select + "?")) {
            statement.setInt(1, 1);
            try (ResultSet row = statement.executeQuery()) {
                checkRow("prepared", row);
            }
            statement.setInt(1, 2);
            try (ResultSet row = statement.executeQuery()) {
                check("a row", row.next(), true);
                for (int index = 0; index < COLUMNS.length; index++) {
                    check("NULL in " + COLUMNS[index].name(), row.getObject(index + 1), null);
                }
            }
        }
    }

    private static void checkRow(String way, ResultSet row) throws SQLException {
        check("a row", row.next(), true);
        for (int index = 0; index < COLUMNS.length; index++) {
            Column column = COLUMNS[index];
            check(column.name() + " by " + way, read(row, index + 1, column.expected()), column.expected());
        }
        check("one row", row.next(), false);
    }

    private static void transactions(Connection connection) throws SQLException {
        try (Statement statement = connection.createStatement()) {
            statement.execute("CREATE TABLE ledger (id INT PRIMARY KEY, amount INT NOT NULL)");
            connection.setAutoCommit(false);
            statement.execute("INSERT INTO ledger VALUES (1, 10)");
            connection.rollback();
            check("rows after rollback", rowCount(statement, "ledger"), 0);
            statement.execute("INSERT INTO ledger VALUES (1, 10)");
            connection.commit();
            connection.setAutoCommit(true);
            check("rows after commit", rowCount(statement, "ledger"), 1);
        }
    }

    private static int rowCount(Statement statement, String table) throws SQLException {
        try (ResultSet row = statement.executeQuery("SELECT COUNT(*) FROM " + table)) {
            row.next();
            return row.getInt(1);
        }
    }

    private static void errors(Connection connection) throws SQLException {
        try (Statement statement = connection.createStatement()) {
            statement.execute("CREATE TABLE unique_names (name VARCHAR(20) NOT NULL UNIQUE)");
            statement.execute("INSERT INTO unique_names VALUES ('a')");
            expectError(1062, "23000", () -> statement.execute("INSERT INTO unique_names VALUES ('a')"));
            expectError(1146, "42S02", () -> statement.execute("SELECT * FROM absent"));
            expectError(1064, "42000", () -> statement.execute("SELEC 1"));
        }
    }

    /** Rows that stay at the server until they are fetched, twenty at a time. */
    private static void cursors(Connection connection) throws SQLException {
        try (Statement statement = connection.createStatement()) {
            statement.execute("CREATE TABLE many (id INT PRIMARY KEY)");
        }
        try (PreparedStatement statement = connection.prepareStatement("INSERT INTO many VALUES (?)")) {
            for (int id = 0; id < 205; id++) {
                statement.setInt(1, id);
                statement.addBatch();
            }
            check("batch", statement.executeBatch().length, 205);
        }
        try (PreparedStatement statement = connection.prepareStatement("SELECT id FROM many WHERE id >= ? ORDER BY id")) {
            statement.setFetchSize(20);
            statement.setInt(1, 5);
            try (ResultSet rows = statement.executeQuery()) {
                int next = 5;
                while (rows.next()) {
                    check("fetched row", rows.getInt(1), next++);
                }
                check("last fetched row", next, 205);
            }
        }
    }

    private static void run(String database, boolean serverSide, boolean withCursors) throws SQLException {
        try (Connection admin = connect("", false); Statement statement = admin.createStatement()) {
            statement.execute("DROP DATABASE IF EXISTS " + database);
            statement.execute("CREATE DATABASE " + database);
        }
        try (Connection connection = connect(database + (withCursors ? "?useCursorFetch=true" : ""), serverSide)) {
            check("valid", connection.isValid(5), true);
            typesInAndOut(connection, "types");
            transactions(connection);
            errors(connection);
            cursors(connection);
            try (Statement statement = connection.createStatement()) {
                statement.execute("DROP DATABASE " + database);
            }
        }
    }

    public static void main(String[] arguments) throws SQLException {
        run("client_java_text", false, false);
        run("client_java_prepared", true, false);
        run("client_java_cursor", true, true);
        System.out.println("Connector/J: " + count + " checks");
    }
}
