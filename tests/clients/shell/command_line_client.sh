#!/bin/bash
# The command-line client (mariadb or mysql): what an administrator types, and what comes back as text.
set -uo pipefail

client=$(command -v mariadb || command -v mysql) || exit 77
options=(--no-defaults --batch --skip-column-names --default-character-set=utf8mb4 "--user=$EVENKEEL_USER")
[ -n "$EVENKEEL_PASSWORD" ] && options+=("--password=$EVENKEEL_PASSWORD")
if [ -n "$EVENKEEL_SOCKET" ]; then
  options+=("--socket=$EVENKEEL_SOCKET")
else
  options+=("--host=$EVENKEEL_HOST" "--port=$EVENKEEL_PORT" --protocol=tcp)
fi
if [ "$EVENKEEL_TLS" = 1 ]; then
  options+=(--ssl)
else
  options+=(--skip-ssl)
fi
count=0

run() { "$client" "${options[@]}" "$@" 2>&1; }

# check WHAT EXPECTED DATABASE STATEMENTS
check() {
  local actual
  actual=$(run "$3" -e "$4")
  count=$((count + 1))
  if [ "$actual" != "$2" ]; then
    printf '%s: expected\n%s\ngot\n%s\n' "$1" "$2" "$actual" >&2
    exit 1
  fi
}

# check_error NUMBER SQLSTATE STATEMENT
check_error() {
  local actual
  actual=$(run client_shell -e "$3")
  count=$((count + 1))
  case $actual in
    *"ERROR $1 ($2)"*) ;;
    *) printf '%s: expected error %s (%s), got %s\n' "$3" "$1" "$2" "$actual" >&2; exit 1 ;;
  esac
}

run -e 'DROP DATABASE IF EXISTS client_shell; CREATE DATABASE client_shell' || exit 1
check 'current database' client_shell client_shell 'SELECT DATABASE()'
check 'several statements' $'1\n2\n3' client_shell 'SELECT 1; SELECT 2; SELECT 3'
check 'numbers' $'-128\t255\t18446744073709551615\t1.50\t1.5\t0.1' client_shell '
  CREATE TABLE numbers (a TINYINT, b TINYINT UNSIGNED, c BIGINT UNSIGNED, d DECIMAL(5,2), e FLOAT, f DOUBLE);
  INSERT INTO numbers VALUES (-128, 255, 18446744073709551615, 1.5, 1.5, 0.1);
  SELECT * FROM numbers'
check 'texts' $'größe\tit\'s\t0xNULL' client_shell "
  CREATE TABLE texts (a CHAR(10), b VARCHAR(20), c TEXT, d VARCHAR(5));
  INSERT INTO texts VALUES ('größe', 'it''s', '0x', NULL);
  SELECT a, b, CONCAT(c, IFNULL(d, 'NULL')) FROM texts"
check 'NULL' NULL client_shell 'SELECT d FROM texts'
check 'calendar' $'2024-02-29\t-838:59:59\t2024-12-31 23:59:58.123456\t2155' client_shell "
  CREATE TABLE calendar (a DATE, b TIME, c DATETIME(6), d YEAR);
  INSERT INTO calendar VALUES ('2024-02-29', '-838:59:59', '2024-12-31 23:59:58.123456', 2155);
  SELECT * FROM calendar"
check 'rollback' 0 client_shell 'BEGIN; INSERT INTO texts (a) VALUES (1); ROLLBACK; SELECT COUNT(*) - 1 FROM texts'
check 'show tables' $'calendar\nnumbers\ntexts' client_shell 'SHOW TABLES'
check_error 1064 42000 'SELEC 1'
check_error 1146 42S02 'SELECT * FROM absent'
check_error 1049 42000 'USE absent'
check_error 1050 42S01 'CREATE TABLE texts (a INT)'
check_error 1364 HY000 'CREATE TABLE strict (a INT NOT NULL); INSERT INTO strict () VALUES ()'
run -e 'DROP DATABASE client_shell' || exit 1
echo "command line: $count checks"
