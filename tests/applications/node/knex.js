// Knex: its schema builder, its queries and its migrations.
'use strict';
const { server, step, same, fails, assert } = require('./scenario');

async function schema(db) {
  await step('schema: createTable of all column types', async () => {
    await db.schema.createTable('kinds', (t) => {
      t.increments('id');
      t.tinyint('tiny');
      t.smallint('small');
      t.mediumint('medium');
      t.bigInteger('big').unsigned();
      t.text('body', 'longtext');
      t.string('name', 100).defaultTo('nobody').notNullable().comment("who's name");
      t.float('f');
      t.double('d');
      t.decimal('price', 10, 3).defaultTo(1.5);
      t.boolean('flag').defaultTo(false);
      t.date('day');
      t.datetime('at', { precision: 6 });
      t.time('clock');
      t.timestamp('seen').defaultTo(db.fn.now());
      t.timestamps(true, true);
      t.binary('raw', 32);
      t.enum('size', ['s', 'm', 'l']);
      t.json('data');
      t.uuid('token', { useBinaryUuid: true });
      t.geometry && t.specificType('mask', 'bit(8)');
      t.comment('all kinds');
      t.engine('InnoDB');
      t.charset('utf8mb4');
      t.collate('utf8mb4_unicode_ci');
    });
  });
  await step('schema: hasTable, hasColumn, columnInfo', async () => {
    assert.strictEqual(await db.schema.hasTable('kinds'), true);
    assert.strictEqual(await db.schema.hasTable('none'), false);
    assert.strictEqual(await db.schema.hasColumn('kinds', 'price'), true);
    const info = await db('kinds').columnInfo();
    same(info.name, { defaultValue: 'nobody', type: 'varchar', maxLength: 100, nullable: false });
    same(info.price, { defaultValue: '1.500', type: 'decimal', maxLength: null, nullable: true });
  });
  await step('schema: foreign keys, unique, index, check', async () => {
    await db.schema.createTable('owners', (t) => {
      t.increments('id');
      t.string('mail').unique();
      t.integer('age').checkPositive();
      t.string('code').checkRegex('^[a-z]+$');
      t.integer('rank').checkBetween([1, 10]).checkIn([1, 2, 3]);
    });
    await db.schema.createTable('pets', (t) => {
      t.increments('id');
      t.integer('owner_id').unsigned().references('id').inTable('owners').onDelete('CASCADE').onUpdate('RESTRICT');
      t.string('name').index('pet_names');
      t.integer('weight').virtual;
      t.unique(['owner_id', 'name'], { indexName: 'one_name' });
    });
    await fails(db('owners').insert({ age: -1 }), 3819);
    await fails(db('owners').insert({ code: 'A1' }), 3819);
  });
  await step('schema: alter, rename, drop', async () => {
    await db.schema.alterTable('pets', (t) => {
      t.string('color', 20).after('name');
      t.integer('age').first();
      t.string('name', 40).notNullable().alter();
    });
    await db.schema.alterTable('pets', (t) => t.renameColumn('color', 'colour'));
    await db.schema.alterTable('pets', (t) => {
      t.dropColumn('age');
      t.dropForeign('owner_id');
      t.dropIndex('name', 'pet_names');
      t.dropUnique(['owner_id', 'name'], 'one_name');
    });
    await db.schema.alterTable('pets', (t) => t.foreign('owner_id').references('owners.id').onDelete('SET NULL'));
    await db.schema.alterTable('pets', (t) => t.setNullable('name'));
    await db.schema.alterTable('pets', (t) => t.dropNullable('name'));
    await db.schema.renameTable('pets', 'animals');
    await db.schema.renameTable('animals', 'pets');
  });
  await step('schema: views', async () => {
    await db.schema.createView('adults', (v) => {
      v.columns(['id', 'mail']);
      v.as(db('owners').select('id', 'mail').where('age', '>', 17));
    });
    await db.schema.createViewOrReplace('adults', (v) => v.as(db('owners').select('id').where('age', '>', 20)));
    await db.schema.dropView('adults');
  });
  await step('schema: fulltext index', async () => {
    await db.schema.createTable('texts', (t) => {
      t.increments('id');
      t.text('body');
      t.index(['body'], 'texts_body', { indexType: 'FULLTEXT' });
    });
  });
  await step('schema: createTableLike, dropTableIfExists, temporary table', async () => {
    await db.schema.createTableLike('kinds2', 'kinds');
    await db.schema.dropTableIfExists('kinds2');
    await db.transaction(async (trx) => {
      await trx.schema.dropTableIfExists('scratch');
      await trx.raw('create temporary table scratch (a int primary key)');
      await trx('scratch').insert([{ a: 1 }, { a: 2 }]);
      same(await trx('scratch').sum({ total: 'a' }), [{ total: '3' }]);
    });
  });
}

async function queries(db) {
  await db('owners').insert([
    { id: 1, mail: 'a@x', age: 30, rank: 1 },
    { id: 2, mail: 'b@x', age: 40, rank: 2 },
    { id: 3, mail: 'c@x', age: 50, rank: 2 },
  ]);
  await db('pets').insert([
    { owner_id: 1, name: 'rex', colour: 'red' },
    { owner_id: 1, name: 'tom', colour: 'red' },
    { owner_id: 2, name: 'kit', colour: 'blue' },
  ]);
  await step('query: where of all forms', async () => {
    const rows = await db('owners')
      .where('age', '>', 20)
      .whereNotNull('mail')
      .whereIn('id', [1, 2, 3])
      .whereBetween('age', [30, 45])
      .whereRaw('mail like ?', ['%@X'])
      .whereILike('mail', '%@X')
      .whereRaw('?? <> ?', ['mail', 'q']);
    same(rows.map((row) => row.id), [1, 2]);
    same(await db('owners').whereILike('mail', '%@X').pluck('id'), [1, 2, 3]);
    same(await db('owners').whereExists(db('pets').whereRaw('pets.owner_id = owners.id')).pluck('id'), [1, 2]);
    same(await db('owners').whereNotIn('id', db('pets').select('owner_id')).pluck('id'), [3]);
    same(await db('owners').whereIn(['id', 'age'], [[1, 30], [2, 41]]).pluck('id'), [1]);
  });
  await step('query: joins, groups, having, union, limit', async () => {
    same(
      await db('owners').leftJoin('pets', 'owners.id', 'pets.owner_id').groupBy('owners.id')
        .select('owners.id').count({ n: 'pets.id' }).having('n', '<', 2).orderBy('owners.id', 'desc'),
      [{ id: 3, n: 0 }, { id: 2, n: 1 }],
    );
    same(
      await db('owners').select('id').union([db('pets').select('owner_id')]).orderBy('id').limit(2).offset(1),
      [{ id: 2 }, { id: 3 }],
    );
    same(await db('pets').countDistinct({ n: 'colour' }).first(), { n: 2 });
    same(await db('pets').distinct('colour').orderBy('colour').pluck('colour'), ['blue', 'red']);
  });
  await step('query: with, recursive with, window functions', async () => {
    same(await db.with('old', db('owners').where('age', '>', 35)).from('old').pluck('id'), [2, 3]);
    same(
      await db.withRecursive('seq', (q) => q.select(db.raw('1 as n')).unionAll([(u) =>
        u.select(db.raw('n + 1')).from('seq').where('n', '<', 4)])).from('seq').pluck('n'),
      [1, 2, 3, 4],
    );
    same(
      await db('owners').select('id').rowNumber('rn', 'id', 'rank').rank('rk', 'rank').denseRank('dr', ['rank'])
        .orderBy('id'),
      [{ id: 1, rn: 1, rk: 1, dr: 1 }, { id: 2, rn: 1, rk: 2, dr: 2 }, { id: 3, rn: 2, rk: 2, dr: 2 }],
    );
  });
  await step('query: json', async () => {
    await db('kinds').insert({ id: 1, data: JSON.stringify({ a: { b: 7 }, l: [1, 2] }) });
    same(await db('kinds').jsonExtract('data', '$.a.b', 'v').first(), { v: '7' });
    same(await db('kinds').whereJsonPath('data', '$.a.b', '=', 7).pluck('id'), [1]);
    same(await db('kinds').whereJsonSupersetOf('data', { l: [2] }).pluck('id'), [1]);
    same(await db('kinds').whereJsonObject('data', { a: { b: 7 }, l: [1, 2] }).pluck('id'), [1]);
    same((await db('kinds').jsonSet('data', '$.a.b', '8', 's').first()).s, { a: { b: '8' }, l: [1, 2] });
    same((await db('kinds').jsonRemove('data', '$.l', 's').first()).s, { a: { b: 7 } });
    same((await db('kinds').jsonInsert('data', '$.z', '1', 's').first()).s, { a: { b: 7 }, l: [1, 2], z: '1' });
  });
  await step('query: insert ignore, merge, update with join and limit, delete', async () => {
    await db('owners').insert({ id: 1, mail: 'a@x' }).onConflict().ignore();
    await db('owners').insert({ id: 1, mail: 'new@x' }).onConflict('id').merge();
    same(await db('owners').where({ id: 1 }).first('mail'), { mail: 'new@x' });
    await db('owners').where({ id: 1 }).increment('age', 5).decrement('rank', 0);
    await db('pets').join('owners', 'owners.id', 'pets.owner_id').where('owners.id', 2).update({ colour: 'green' });
    same(await db('pets').where('colour', 'green').pluck('name'), ['kit']);
    await db('pets').orderBy('id', 'desc').limit(1).del();
    same(await db('pets').count({ n: '*' }), [{ n: 2 }]);
    same(await db('pets').insert({ name: 'last' }), [4]);
  });
  await step('query: transactions, savepoints, locks', async () => {
    await fails(db.transaction(async (trx) => {
      await trx('owners').insert({ id: 9 });
      await trx.transaction(async (inner) => inner('owners').insert({ id: 10 }));
      await trx('owners').insert({ id: 9 });
    }), 1062);
    same(await db('owners').where('id', '>', 8), []);
    await db.transaction(async (trx) => {
      await trx('owners').where({ id: 1 }).forUpdate().skipLocked();
      await trx('owners').where({ id: 1 }).forShare();
    }, { isolationLevel: 'read committed' });
  });
  await step('query: stream, options, raw, batchInsert, truncate', async () => {
    const seen = [];
    for await (const row of db('owners').orderBy('id').stream()) seen.push(row.id);
    same(seen, [1, 2, 3]);
    await db.batchInsert('texts2', Array.from({ length: 2500 }, (_, i) => ({ body: `b${i}` })), 400).catch(async () => {
      await db.schema.createTable('texts2', (t) => { t.increments(); t.text('body'); });
      await db.batchInsert('texts2', Array.from({ length: 2500 }, (_, i) => ({ body: `b${i}` })), 400);
    });
    same(await db('texts2').count({ n: '*' }), [{ n: 2500 }]);
    await db('texts2').truncate();
    same(await db('texts2').max({ n: 'id' }), [{ n: null }]);
    same((await db.raw('select ? + ? as n', [1, 2]))[0], [{ n: 3 }]);
  });
}

async function migrations(db) {
  const source = {
    getMigrations: async () => ['one', 'two'],
    getMigrationName: (name) => name,
    getMigration: async (name) => ({
      up: (k) => k.schema.createTable(`made_${name}`, (t) => t.increments()),
      down: (k) => k.schema.dropTable(`made_${name}`),
    }),
  };
  await step('migrations: latest, status, rollback', async () => {
    const [, made] = await db.migrate.latest({ migrationSource: source });
    same(made, ['one', 'two']);
    assert.strictEqual(await db.migrate.status({ migrationSource: source }), 0);
    const [, undone] = await db.migrate.rollback({ migrationSource: source });
    same(undone, ['two', 'one']);
  });
}

(async () => {
  const db = require('knex')({ client: 'mysql2', connection: { ...server, charset: 'utf8mb4' }, pool: { min: 0, max: 3 } });
  await schema(db);
  await queries(db).catch((error) => console.log(`not ok queries -- ${error.message}`));
  await migrations(db);
  await db.destroy();
})();
