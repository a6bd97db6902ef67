// Command client checks the server with go-sql-driver: arguments travel in prepared statements, and with
// interpolateParams in the text of the statement.
package main

import (
	"bytes"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/go-sql-driver/mysql"
)

type column struct {
	name, kind string
	value      any
	// want is what comes back as text; time.Time is compared as such.
	want any
}

var columns = []column{
	{"c_tiny", "TINYINT", int64(-128), "-128"},
	{"c_utiny", "TINYINT UNSIGNED", int64(255), "255"},
	{"c_small", "SMALLINT", int64(-32768), "-32768"},
	{"c_medium", "MEDIUMINT", int64(8388607), "8388607"},
	{"c_int", "INT", int64(-2147483648), "-2147483648"},
	{"c_uint", "INT UNSIGNED", int64(4294967295), "4294967295"},
	{"c_big", "BIGINT", int64(-9223372036854775808), "-9223372036854775808"},
	{"c_ubig", "BIGINT UNSIGNED", uint64(18446744073709551615), "18446744073709551615"},
	{"c_decimal", "DECIMAL(30,10)", "-12345678901234567890.0123456789", "-12345678901234567890.0123456789"},
	{"c_float", "FLOAT", float64(1.5), "1.5"},
	{"c_double", "DOUBLE", float64(0.1), "0.1"},
	{"c_char", "CHAR(10)", "größe", "größe"},
	{"c_varchar", "VARCHAR(100)", "it's \"quoted\" \\ and \U0001f600", "it's \"quoted\" \\ and \U0001f600"},
	{"c_text", "TEXT", "line\nbreak\ttab\x00nul", "line\nbreak\ttab\x00nul"},
	{"c_binary", "BINARY(4)", []byte{0, 255, 39, 92}, "\x00\xff'\\"},
	{"c_blob", "BLOB", bytes.Repeat([]byte{0, 1, 254, 255}, 100), string(bytes.Repeat([]byte{0, 1, 254, 255}, 100))},
	{"c_date", "DATE", "2024-02-29", time.Date(2024, 2, 29, 0, 0, 0, 0, time.UTC)},
	{"c_time", "TIME(6)", "-838:59:58.000007", "-838:59:58.000007"},
	{"c_datetime", "DATETIME(6)", time.Date(2024, 12, 31, 23, 59, 58, 123456000, time.UTC), time.Date(2024, 12, 31, 23, 59, 58, 123456000, time.UTC)},
	{"c_year", "YEAR", int64(2155), "2155"},
	{"c_enum", "ENUM('small','medium','large')", "medium", "medium"},
	{"c_set", "SET('a','b','c')", "a,c", "a,c"},
}

var count int

func check(what string, got, want any) {
	count++
	if got != want {
		fail(fmt.Errorf("%s: expected %#v, got %#v", what, want, got))
	}
}

func fail(err error) {
	fmt.Fprintln(os.Stderr, err)
	os.Exit(1)
}

func must[T any](value T, err error) T {
	if err != nil {
		fail(err)
	}
	return value
}

func config(database string, interpolate bool) *mysql.Config {
	config := mysql.NewConfig()
	config.User, config.Passwd, config.DBName = os.Getenv("EVENKEEL_USER"), os.Getenv("EVENKEEL_PASSWORD"), database
	config.Net, config.Addr = "tcp", os.Getenv("EVENKEEL_HOST")+":"+os.Getenv("EVENKEEL_PORT")
	if socket := os.Getenv("EVENKEEL_SOCKET"); socket != "" {
		config.Net, config.Addr = "unix", socket
	}
	if os.Getenv("EVENKEEL_TLS") == "1" {
		config.TLSConfig = "skip-verify"
	}
	config.ParseTime = true
	config.InterpolateParams = interpolate
	return config
}

func open(database string, interpolate bool) *sql.DB {
	db := sql.OpenDB(must(mysql.NewConnector(config(database, interpolate))))
	if err := db.PingContext(context.Background()); err != nil {
		fail(err)
	}
	return db
}

func expectError(number uint16, state string, err error) {
	var server *mysql.MySQLError
	if !errors.As(err, &server) {
		fail(fmt.Errorf("expected error %d, got %v", number, err))
	}
	check("error number", server.Number, number)
	check("SQLSTATE", string(server.SQLState[:]), state)
}

func typesInAndOut(db *sql.DB, table string) {
	definitions, names, marks := "id INT AUTO_INCREMENT PRIMARY KEY", "", ""
	var values, nulls []any
	for index, column := range columns {
		definitions += ", " + column.name + " " + column.kind
		if index > 0 {
			names, marks = names+", ", marks+", "
		}
		names, marks = names+column.name, marks+"?"
		values, nulls = append(values, column.value), append(nulls, nil)
	}
	must(db.Exec("CREATE TABLE " + table + " (" + definitions + ")"))
	insert := "INSERT INTO " + table + " (" + names + ") VALUES (" + marks + ")"
	result := must(db.Exec(insert, values...))
	check("affected rows", must(result.RowsAffected()), int64(1))
	check("last insert id", must(result.LastInsertId()), int64(1))
	must(db.Exec(insert, nulls...))
	for _, byArgument := range []bool{false, true} {
		query, arguments := "SELECT "+names+" FROM "+table+" WHERE id = 1", []any{}
		if byArgument {
			query, arguments = "SELECT "+names+" FROM "+table+" WHERE id = ?", []any{1}
		}
		for index, cell := range readRow(db, query, arguments...) {
			column := columns[index]
			what := fmt.Sprintf("%s (prepared: %v)", column.name, byArgument)
			if want, isTime := column.want.(time.Time); isTime {
				check(what, cell.(time.Time).Equal(want), true)
			} else {
				check(what, text(cell), column.want)
			}
		}
	}
	for index, cell := range readRow(db, "SELECT "+names+" FROM "+table+" WHERE id = ?", 2) {
		check("NULL in "+columns[index].name, cell, nil)
	}
}

func readRow(db *sql.DB, query string, arguments ...any) []any {
	rows := must(db.Query(query, arguments...))
	defer rows.Close()
	if !rows.Next() {
		fail(fmt.Errorf("no row: %v", rows.Err()))
	}
	cells, targets := make([]any, len(columns)), make([]any, len(columns))
	for index := range cells {
		targets[index] = &cells[index]
	}
	if err := rows.Scan(targets...); err != nil {
		fail(err)
	}
	return cells
}

func text(cell any) string {
	if raw, isBytes := cell.([]byte); isBytes {
		return string(raw)
	}
	return fmt.Sprint(cell)
}

func transactions(db *sql.DB) {
	must(db.Exec("CREATE TABLE ledger (id INT PRIMARY KEY, amount INT NOT NULL)"))
	for _, commit := range []bool{false, true} {
		transaction := must(db.Begin())
		must(transaction.Exec("INSERT INTO ledger VALUES (?, ?)", 1, 10))
		if commit {
			must(0, transaction.Commit())
		} else {
			must(0, transaction.Rollback())
		}
		var rows int
		must(0, db.QueryRow("SELECT COUNT(*) FROM ledger").Scan(&rows))
		check("rows after the transaction", rows == 1, commit)
	}
}

func failures(db *sql.DB) {
	must(db.Exec("CREATE TABLE unique_names (name VARCHAR(20) NOT NULL UNIQUE)"))
	must(db.Exec("INSERT INTO unique_names VALUES (?)", "a"))
	_, err := db.Exec("INSERT INTO unique_names VALUES (?)", "a")
	expectError(1062, "23000", err)
	_, err = db.Exec("SELECT * FROM absent")
	expectError(1146, "42S02", err)
	_, err = db.Exec("SELEC ?", 1)
	expectError(1064, "42000", err)
}

func main() {
	const name = "client_go"
	admin := open("", false)
	must(admin.Exec("DROP DATABASE IF EXISTS " + name))
	must(admin.Exec("CREATE DATABASE " + name))
	prepared := open(name, false)
	typesInAndOut(prepared, "types_prepared")
	transactions(prepared)
	failures(prepared)
	interpolated := open(name, true)
	typesInAndOut(interpolated, "types_interpolated")
	must(admin.Exec("DROP DATABASE " + name))
	fmt.Printf("go-sql-driver: %d checks\n", count)
}
