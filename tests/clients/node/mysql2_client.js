// mysql2 for Node: `query` is the text protocol, `execute` the binary one.
'use strict';

const assert = require('node:assert');
const path = require('node:path');

const environment = process.env;
let mysql;
try {
  mysql = require(path.join(environment.EVENKEEL_CLIENTS, 'node', 'node_modules', 'mysql2', 'promise'));
} catch {
  process.exit(77);
}

const COLUMNS = [
  ['c_tiny', 'TINYINT', -128],
  ['c_utiny', 'TINYINT UNSIGNED', 255],
  ['c_small', 'SMALLINT', -32768],
  ['c_medium', 'MEDIUMINT', 8388607],
  ['c_int', 'INT', -2147483648],
  ['c_uint', 'INT UNSIGNED', 4294967295],
  ['c_big', 'BIGINT', '-9223372036854775808'],
  ['c_ubig', 'BIGINT UNSIGNED', '18446744073709551615'],
  ['c_decimal', 'DECIMAL(30,10)', '-12345678901234567890.0123456789'],
  ['c_float', 'FLOAT', 1.5],
  ['c_double', 'DOUBLE', -2.2250738585072014e-308],
  ['c_char', 'CHAR(10)', 'größe'],
  ['c_varchar', 'VARCHAR(100)', 'it\'s "quoted" \\ and \u{1f600}'],
  ['c_text', 'TEXT', 'line\nbreak\ttab\0nul'],
  ['c_binary', 'BINARY(4)', Buffer.from([0, 255, 39, 92])],
  ['c_blob', 'BLOB', Buffer.from(Array.from({ length: 256 }, (_, index) => index))],
  ['c_date', 'DATE', '2024-02-29'],
  ['c_time', 'TIME(6)', '-838:59:58.000007'],
  ['c_datetime', 'DATETIME(6)', '9999-12-31 23:59:58.123456'],
  ['c_timestamp', 'TIMESTAMP NULL', '2024-02-29 12:34:56'],
  ['c_year', 'YEAR', 2155],
  ['c_enum', "ENUM('small','medium','large')", 'medium'],
  ['c_set', "SET('a','b','c')", 'a,c'],
];

let count = 0;
function check(what, actual, expected) {
  count += 1;
  assert.deepStrictEqual(actual, expected, what);
}

async function expectError(number, state, run) {
  try {
    await run();
  } catch (error) {
    check('number and state', [error.errno, error.sqlState], [number, state]);
    return;
  }
  assert.fail(`no error ${number}`);
}

function connect(database) {
  const options = {
    user: environment.EVENKEEL_USER,
    password: environment.EVENKEEL_PASSWORD,
    database,
    dateStrings: true,
    supportBigNumbers: true,
    bigNumberStrings: true,
    charset: 'utf8mb4',
  };
  if (environment.EVENKEEL_SOCKET) {
    options.socketPath = environment.EVENKEEL_SOCKET;
  } else {
    options.host = environment.EVENKEEL_HOST;
    options.port = Number(environment.EVENKEEL_PORT);
  }
  if (environment.EVENKEEL_TLS === '1') options.ssl = { rejectUnauthorized: false };
  return mysql.createConnection(options);
}

async function typesInAndOut(connection) {
  const definitions = COLUMNS.map(([name, kind]) => `${name} ${kind}`).join(', ');
  await connection.query(`CREATE TABLE types (id INT AUTO_INCREMENT PRIMARY KEY, ${definitions})`);
  const names = COLUMNS.map(([name]) => name).join(', ');
  const marks = COLUMNS.map(() => '?').join(', ');
  const values = COLUMNS.map(([, , value]) => value);
  const insert = `INSERT INTO types (${names}) VALUES (${marks})`;
  for (const [way, id] of [['query', 1], ['execute', 2]]) {
    const [result] = await connection[way](insert, values);
    check(`affected by ${way}`, [result.affectedRows, result.insertId], [1, id]);
  }
  await connection.execute(insert, COLUMNS.map(() => null));
  for (const way of ['query', 'execute']) {
    for (const id of [1, 2]) {
      const [[row]] = await connection[way](`SELECT ${names} FROM types WHERE id = ?`, [id]);
      for (const [name, , expected] of COLUMNS) {
        // Safe integers come as numbers, larger ones as text.
        check(`${name} of ${id} by ${way}`, row[name], expected);
      }
    }
    const [[row]] = await connection[way](`SELECT ${names} FROM types WHERE id = ?`, [3]);
    check(`NULLs by ${way}`, new Set(Object.values(row)), new Set([null]));
  }
}

async function transactions(connection) {
  await connection.query('CREATE TABLE ledger (id INT PRIMARY KEY, amount INT NOT NULL)');
  await connection.beginTransaction();
  await connection.execute('INSERT INTO ledger VALUES (?, ?)', [1, 10]);
  await connection.rollback();
  check('after rollback', (await connection.query('SELECT * FROM ledger'))[0], []);
  await connection.beginTransaction();
  await connection.execute('INSERT INTO ledger VALUES (?, ?)', [1, 10]);
  await connection.commit();
  const [result] = await connection.execute('UPDATE ledger SET amount = amount + ? WHERE id = ?', [5, 1]);
  check('changed', [result.affectedRows, result.changedRows], [1, 1]);
  check('after commit', (await connection.query('SELECT amount FROM ledger'))[0], [{ amount: 15 }]);
}

async function errors(connection) {
  await connection.query('CREATE TABLE unique_names (name VARCHAR(20) NOT NULL UNIQUE)');
  await connection.query("INSERT INTO unique_names VALUES ('a')");
  for (const way of ['query', 'execute']) {
    await expectError(1062, '23000', () => connection[way]('INSERT INTO unique_names VALUES (?)', ['a']));
    await expectError(1146, '42S02', () => connection[way]('SELECT * FROM absent'));
    await expectError(1064, '42000', () => connection[way]('SELEC 1'));
  }
}

async function main() {
  const name = 'client_mysql2';
  let connection = await connect(undefined);
  await connection.query(`DROP DATABASE IF EXISTS ${name}`);
  await connection.query(`CREATE DATABASE ${name}`);
  await connection.changeUser({ database: name });
  check('changed user', (await connection.query('SELECT DATABASE() AS d'))[0], [{ d: name }]);
  await connection.end();
  connection = await connect(name);
  await connection.ping();
  await typesInAndOut(connection);
  await transactions(connection);
  await errors(connection);
  await connection.query(`DROP DATABASE ${name}`);
  await connection.end();
  console.log(`mysql2: ${count} checks`);
}

main().catch((error) => {
  console.error(error);
  process.exit(1);
});
