// Steps with names: each prints `ok NAME` or `not ok NAME -- reason`, and a failure does not end the others.
'use strict';
const assert = require('assert');

const server = {
  host: process.env.EVENKEEL_HOST,
  port: Number(process.env.EVENKEEL_PORT),
  user: 'root',
  password: '',
  database: process.env.EVENKEEL_DATABASE,
};

async function step(name, body) {
  try {
    await body();
    console.log(`ok ${name}`);
  } catch (error) {
    console.log(`not ok ${name} -- ${String(error.sqlMessage || error.message || error).replace(/\s+/g, ' ')}`);
  }
}

// Values as they leave as JSON: drivers' row classes and BigInts do not count.
function same(left, right) {
  const plain = (value) =>
    JSON.parse(JSON.stringify(value, (_, item) => (typeof item === 'bigint' ? String(item) : item)));
  assert.deepStrictEqual(plain(left), plain(right));
}

async function fails(promise, number) {
  try {
    await promise;
  } catch (error) {
    const cause = error.errno ? error : error.cause || error.parent || error.driverError || error;
    assert.strictEqual(cause.errno, number);
    return;
  }
  assert.fail(`no error ${number}`);
}

module.exports = { server, step, same, fails, assert };
