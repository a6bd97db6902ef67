// Drizzle: tables it describes, its queries, relations, transactions and migrator.
'use strict';
const fs = require('fs');
const path = require('path');
const mysql = require('mysql2/promise');
const { drizzle } = require('drizzle-orm/mysql2');
const { migrate } = require('drizzle-orm/mysql2/migrator');
const { relations, sql, eq, and, or, gt, inArray, like, between, isNull, exists, asc, desc, count, sum, avg, max } =
  require('drizzle-orm');
const core = require('drizzle-orm/mysql-core');
const { server, step, same, fails, assert } = require('./scenario');

const owners = core.mysqlTable('owners', {
  id: core.int('id').primaryKey().autoincrement(),
  mail: core.varchar('mail', { length: 100 }).notNull().unique(),
  age: core.int('age'),
  role: core.mysqlEnum('role', ['user', 'admin']).default('user'),
  settings: core.json('settings'),
  balance: core.decimal('balance', { precision: 12, scale: 2 }).default('0.00'),
  seen: core.timestamp('seen', { fsp: 3 }).defaultNow().onUpdateNow(),
});
const pets = core.mysqlTable('pets', {
  id: core.bigint('id', { mode: 'bigint', unsigned: true }).primaryKey().autoincrement(),
  ownerId: core.int('owner_id').references(() => owners.id),
  name: core.text('name').notNull(),
  born: core.date('born', { mode: 'string' }),
  tame: core.boolean('tame').default(false),
});
const ownersRelations = relations(owners, ({ many }) => ({ pets: many(pets) }));
const petsRelations = relations(pets, ({ one }) => ({
  owner: one(owners, { fields: [pets.ownerId], references: [owners.id] }),
}));
const schema = { owners, pets, ownersRelations, petsRelations };

// What drizzle-kit writes for these tables.
const MIGRATIONS = [
  [
    "CREATE TABLE `owners` (\n\t`id` int AUTO_INCREMENT NOT NULL,\n\t`mail` varchar(100) NOT NULL,\n\t`age` int,\n" +
      "\t`role` enum('user','admin') DEFAULT 'user',\n\t`settings` json,\n\t`balance` decimal(12,2) DEFAULT '0.00',\n" +
      '\t`seen` timestamp(3) DEFAULT (now()) ON UPDATE CURRENT_TIMESTAMP(3),\n' +
      '\tCONSTRAINT `owners_id` PRIMARY KEY(`id`),\n\tCONSTRAINT `owners_mail_unique` UNIQUE(`mail`)\n);',
    'CREATE TABLE `pets` (\n\t`id` bigint unsigned AUTO_INCREMENT NOT NULL,\n\t`owner_id` int,\n\t`name` text NOT NULL,\n' +
      '\t`born` date,\n\t`tame` boolean DEFAULT false,\n\tCONSTRAINT `pets_id` PRIMARY KEY(`id`)\n);',
    'ALTER TABLE `pets` ADD CONSTRAINT `pets_owner_id_owners_id_fk` FOREIGN KEY (`owner_id`) REFERENCES `owners`(`id`) ' +
      'ON DELETE no action ON UPDATE no action;',
  ],
  ['CREATE INDEX `pets_name` ON `pets` (`name`(20));', 'ALTER TABLE `pets` ADD `weight` double;'],
];

function writeMigrations(folder) {
  fs.rmSync(folder, { recursive: true, force: true });
  fs.mkdirSync(path.join(folder, 'meta'), { recursive: true });
  const entries = MIGRATIONS.map((statements, idx) => {
    const tag = `000${idx}_step`;
    fs.writeFileSync(path.join(folder, `${tag}.sql`), statements.join('--> statement-breakpoint\n'));
    return { idx, version: '5', when: 1700000000000 + idx, tag, breakpoints: true };
  });
  fs.writeFileSync(path.join(folder, 'meta/_journal.json'), JSON.stringify({ version: '7', dialect: 'mysql', entries }));
}

async function changes(db) {
  await step('change: insert, $returningId, JSON, decimals', async () => {
    const ids = await db.insert(owners).values([
      { mail: 'a@x', age: 30, settings: { theme: 'dark', sizes: [1, 2] } },
      { mail: 'b@x', age: 40, role: 'admin', balance: '12.50' },
      { mail: 'c@x' },
    ]).$returningId();
    same(ids, [{ id: 1 }, { id: 2 }, { id: 3 }]);
    same((await db.select().from(owners).where(eq(owners.id, 1)))[0].settings, { theme: 'dark', sizes: [1, 2] });
    await db.insert(pets).values([
      { ownerId: 1, name: 'rex', born: '2020-02-29' },
      { ownerId: 1, name: 'tom', tame: true },
      { ownerId: 2, name: 'kit', born: '2021-01-01' },
    ]);
  });
  await step('change: upserts', async () => {
    const again = { mail: 'c@x', age: 7 };
    const [changed] = await db.insert(owners).values(again).onDuplicateKeyUpdate({ set: { age: sql`values(${owners.age}) + 1` } });
    assert.strictEqual(changed.affectedRows, 2);
    const [ignored] = await db.insert(owners).ignore().values(again);
    assert.strictEqual(ignored.affectedRows, 0);
    await fails(db.insert(owners).values(again), 1062);
    await fails(db.insert(pets).values({ ownerId: 99, name: 'lost' }), 1452);
  });
  await step('change: update and delete with limits', async () => {
    await db.update(owners).set({ balance: sql`${owners.balance} + 1.25` }).where(gt(owners.age, 20)).orderBy(desc(owners.id)).limit(1);
    same(await db.select({ balance: owners.balance }).from(owners).orderBy(owners.id), [
      { balance: '0.00' }, { balance: '13.75' }, { balance: '0.00' },
    ]);
    const [gone] = await db.delete(pets).where(like(pets.name, 'none%')).limit(1);
    assert.strictEqual(gone.affectedRows, 0);
  });
}

async function queries(db) {
  await step('query: conditions of all forms', async () => {
    const rows = await db.select({ id: owners.id }).from(owners).where(
      and(
        or(inArray(owners.id, [1, 2]), isNull(owners.age)),
        between(owners.age, 10, 45),
        exists(db.select().from(pets).where(eq(pets.ownerId, owners.id))),
      ),
    ).orderBy(asc(owners.id));
    same(rows, [{ id: 1 }, { id: 2 }]);
  });
  await step('query: joins, groups, aggregates', async () => {
    const rows = await db.select({ mail: owners.mail, pets: count(pets.id), oldest: max(owners.age), mean: avg(owners.age) })
      .from(owners).leftJoin(pets, eq(pets.ownerId, owners.id)).groupBy(owners.id).having(({ pets: n }) => gt(n, 0))
      .orderBy(desc(count(pets.id)));
    same(rows, [
      { mail: 'a@x', pets: 2, oldest: 30, mean: '30.0000' },
      { mail: 'b@x', pets: 1, oldest: 40, mean: '40.0000' },
    ]);
    same(await db.select({ total: sum(owners.balance) }).from(owners), [{ total: '13.75' }]);
    same(await db.$count(pets), 3);
  });
  await step('query: with, subqueries, set operations, lateral joins', async () => {
    const adults = db.$with('adults').as(db.select().from(owners).where(gt(owners.age, 35)));
    same(await db.with(adults).select({ mail: adults.mail }).from(adults), [{ mail: 'b@x' }]);
    const named = db.select({ owner: pets.ownerId, names: sql`group_concat(${pets.name} order by ${pets.name})`.as('names') })
      .from(pets).groupBy(pets.ownerId).as('named');
    same(await db.select({ mail: owners.mail, names: named.names }).from(owners).innerJoin(named, eq(named.owner, owners.id))
      .orderBy(owners.id), [{ mail: 'a@x', names: 'rex,tom' }, { mail: 'b@x', names: 'kit' }]);
    same(await core.unionAll(db.select({ n: owners.id }).from(owners), db.select({ n: pets.ownerId }).from(pets))
      .orderBy(sql`id desc`).limit(2), [{ n: 3 }, { n: 2 }]);
    const first = db.select({ name: pets.name }).from(pets).where(eq(pets.ownerId, owners.id)).orderBy(pets.id).limit(1).as('first');
    same(await db.select({ id: owners.id, name: first.name }).from(owners).leftJoinLateral(first, sql`true`).orderBy(owners.id), [
      { id: 1, name: 'rex' }, { id: 2, name: 'kit' }, { id: 3, name: null },
    ]);
  });
  await step('query: relations in one statement', async () => {
    const found = await db.query.owners.findMany({
      columns: { mail: true },
      with: { pets: { columns: { name: true, born: true }, orderBy: (t) => [desc(t.name)], limit: 1 } },
      where: (t, { lt }) => lt(t.id, 3),
      orderBy: (t) => [asc(t.id)],
    });
    same(found, [
      { mail: 'a@x', pets: [{ name: 'tom', born: null }] },
      { mail: 'b@x', pets: [{ name: 'kit', born: '2021-01-01' }] },
    ]);
    const pet = await db.query.pets.findFirst({ with: { owner: { columns: { mail: true } } }, orderBy: (t) => [asc(t.id)] });
    same(pet.owner, { mail: 'a@x' });
  });
  await step('query: prepared with placeholders', async () => {
    const byAge = db.select({ id: owners.id }).from(owners).where(gt(owners.age, sql.placeholder('age'))).prepare();
    same(await byAge.execute({ age: 35 }), [{ id: 2 }]);
    same(await byAge.execute({ age: 1 }), [{ id: 1 }, { id: 2 }, { id: 3 }]);
  });
}

async function transactions(db) {
  await step('transaction: isolation, savepoints, rollback, locks', async () => {
    await db.transaction(async (tx) => {
      await tx.update(owners).set({ age: 31 }).where(eq(owners.id, 1));
      await tx.transaction(async (inner) => {
        await inner.delete(pets);
        inner.rollback();
      }).catch(() => {});
      same(await tx.select({ id: owners.id }).from(owners).where(eq(owners.id, 2)).for('update', { skipLocked: true }), [{ id: 2 }]);
      await tx.select().from(owners).for('share', { noWait: true });
    }, { isolationLevel: 'read committed', accessMode: 'read write' });
    same(await db.$count(pets), 3);
    await db.transaction(async (tx) => {
      await tx.update(owners).set({ age: 99 });
      tx.rollback();
    }, { isolationLevel: 'serializable', withConsistentSnapshot: true }).catch(() => {});
    same((await db.select({ age: owners.age }).from(owners).where(eq(owners.id, 1)))[0], { age: 31 });
    await fails(db.transaction((tx) => tx.delete(pets), { accessMode: 'read only' }), 1792);
  });
}

// What drizzle-kit asks to make its description of a database.
async function introspection(connection) {
  await step('introspection: the statements of drizzle-kit', async () => {
    const ask = async (text) => (await connection.query(text, [server.database]))[0];
    const columns = await ask('select * from information_schema.columns where table_schema = ? and table_name != \'__drizzle_migrations\' order by table_name, ordinal_position');
    same(columns.filter((c) => c.TABLE_NAME === 'owners').map((c) => c.COLUMN_TYPE), [
      'int', 'varchar(100)', 'int', "enum('user','admin')", 'json', 'decimal(12,2)', 'timestamp(3)',
    ]);
    assert.match(columns.find((c) => c.COLUMN_NAME === 'seen').EXTRA, /^DEFAULT_GENERATED on update CURRENT_TIMESTAMP\(3\)$/);
    const keys = await ask(
      'SELECT table_name, column_name, ordinal_position FROM information_schema.table_constraints t LEFT JOIN ' +
      "information_schema.key_column_usage k USING(constraint_name,table_schema,table_name) WHERE t.constraint_type='PRIMARY KEY' " +
      "and table_name != '__drizzle_migrations' AND t.table_schema = ? ORDER BY ordinal_position, table_name",
    );
    same(keys.map((key) => Object.values(key)), [['owners', 'id', 1], ['pets', 'id', 1]]);
    const foreign = await ask(
      'SELECT kcu.TABLE_NAME, kcu.CONSTRAINT_NAME, kcu.REFERENCED_TABLE_NAME, rc.UPDATE_RULE, rc.DELETE_RULE FROM ' +
      'INFORMATION_SCHEMA.KEY_COLUMN_USAGE kcu LEFT JOIN information_schema.referential_constraints rc ON ' +
      "kcu.CONSTRAINT_NAME = rc.CONSTRAINT_NAME WHERE kcu.TABLE_SCHEMA = ? AND kcu.CONSTRAINT_NAME != 'PRIMARY' AND kcu.REFERENCED_TABLE_NAME IS NOT NULL",
    );
    same(foreign.map((key) => Object.values(key)), [['pets', 'pets_owner_id_owners_id_fk', 'owners', 'NO ACTION', 'NO ACTION']]);
    const indexes = await ask(
      "select * from INFORMATION_SCHEMA.STATISTICS WHERE INFORMATION_SCHEMA.STATISTICS.TABLE_SCHEMA = ? and INFORMATION_SCHEMA.STATISTICS.INDEX_NAME != 'PRIMARY' and table_name != '__drizzle_migrations' order by index_name",
    );
    same(indexes.map((index) => [index.INDEX_NAME, Number(index.NON_UNIQUE), index.SUB_PART && Number(index.SUB_PART)]), [
      ['owners_mail_unique', 0, null], ['pets_name', 1, 20], ['pets_owner_id_owners_id_fk', 1, null],
    ]);
    same(await ask('select * from INFORMATION_SCHEMA.VIEWS WHERE table_schema = ?'), []);
    same(await ask('SELECT tc.table_name, tc.constraint_name, cc.check_clause FROM information_schema.table_constraints tc JOIN ' +
      'information_schema.check_constraints cc ON tc.constraint_name = cc.constraint_name WHERE tc.constraint_schema = ? AND ' +
      "tc.constraint_type = 'CHECK'"), []);
  });
}

async function main() {
  const pool = mysql.createPool({ ...server, multipleStatements: false });
  const db = drizzle(pool, { schema, mode: 'default' });
  await step('migrator: tables, then an index and a column, then nothing', async () => {
    writeMigrations('migrations');
    await migrate(db, { migrationsFolder: 'migrations' });
    await migrate(db, { migrationsFolder: 'migrations' });
    const [rows] = await pool.query('select count(*) as n from __drizzle_migrations');
    same(rows, [{ n: 2 }]);
  });
  await changes(db);
  await queries(db);
  await transactions(db);
  await introspection(pool);
  await pool.end();
}

main().catch((error) => {
  console.log(`not ok main -- ${error.message}`);
  process.exitCode = 1;
});
