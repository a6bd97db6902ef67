// TypeORM: entities of many column kinds, synchronize twice, relations, trees, query builder, migrations.
'use strict';
require('reflect-metadata');
const { server, step, same, assert } = require('./scenario');
const { DataSource, EntitySchema, In, Like, MoreThan, Between, Table, TableColumn, TableIndex, TableForeignKey } = require('typeorm');

const Category = new EntitySchema({
  name: 'Category',
  trees: [{ type: 'closure-table' }],
  columns: { id: { type: Number, primary: true, generated: true }, name: { type: 'varchar', length: 50 } },
  relations: {
    parent: { type: 'many-to-one', target: 'Category', treeParent: true },
    children: { type: 'one-to-many', target: 'Category', treeChildren: true },
  },
});
const Author = new EntitySchema({
  name: 'Author',
  columns: {
    id: { type: 'int', primary: true, generated: true, unsigned: true },
    name: { type: 'varchar', length: 80, unique: true, comment: "the author's name" },
    born: { type: 'date', nullable: true },
    money: { type: 'decimal', precision: 10, scale: 2, default: 0 },
    role: { type: 'enum', enum: ['admin', 'user'], default: 'user' },
    tags: { type: 'set', enum: ['x', 'y', 'z'], nullable: true },
    info: { type: 'json', nullable: true },
    list: { type: 'simple-array', nullable: true },
    bits: { type: 'bit', width: 4, default: () => "b'0101'" },
    first: { type: 'varchar', length: 1, generatedType: 'STORED', asExpression: 'LEFT(name, 1)' },
    lower: { type: 'varchar', length: 80, generatedType: 'VIRTUAL', asExpression: 'LOWER(name)' },
    created: { type: 'datetime', createDate: true },
    updated: { type: 'datetime', updateDate: true },
    deleted: { type: 'datetime', deleteDate: true, nullable: true },
    version: { type: 'int', version: true },
  },
  checks: [{ expression: '`money` >= 0' }],
  indices: [{ columns: ['born', 'role'], name: 'by_birth' }],
  relations: { books: { type: 'one-to-many', target: 'Book', inverseSide: 'author' } },
});
const Book = new EntitySchema({
  name: 'Book',
  columns: {
    id: { type: String, primary: true, generated: 'uuid' },
    title: { type: 'varchar', length: 200 },
    body: { type: 'longtext', nullable: true },
    pages: { type: 'smallint', unsigned: true, default: 1 },
  },
  relations: {
    author: { type: 'many-to-one', target: 'Author', inverseSide: 'books', joinColumn: true, onDelete: 'CASCADE' },
    genres: { type: 'many-to-many', target: 'Genre', joinTable: true, cascade: true },
  },
});
const Genre = new EntitySchema({ name: 'Genre', columns: { id: { type: 'int', primary: true, generated: true }, name: { type: 'varchar' } } });
const Prolific = new EntitySchema({
  name: 'Prolific',
  type: 'view',
  expression: 'SELECT `author`.`name` AS `name`, COUNT(*) AS `n` FROM `author` INNER JOIN `book` ON `book`.`authorId` = `author`.`id` GROUP BY `author`.`name`',
  columns: { name: { type: String }, n: { type: Number } },
});

class Migration1700000000000 {
  constructor() { this.name = 'Migration1700000000000'; }
  async up(runner) {
    await runner.createTable(new Table({
      name: 'moved',
      columns: [{ name: 'id', type: 'int', isPrimary: true, isGenerated: true, generationStrategy: 'increment' }, { name: 'a', type: 'int', isNullable: true }],
    }), true);
    await runner.addColumn('moved', new TableColumn({ name: 'b', type: 'varchar', length: '30', default: "'q'" }));
    await runner.changeColumn('moved', 'b', new TableColumn({ name: 'c', type: 'varchar', length: '30', isUnique: true }));
    await runner.createIndex('moved', new TableIndex({ name: 'moved_a', columnNames: ['a'] }));
    await runner.createForeignKey('moved', new TableForeignKey({ name: 'moved_fk', columnNames: ['a'], referencedColumnNames: ['id'], referencedTableName: 'genre' }));
  }
  async down(runner) {
    await runner.dropForeignKey('moved', 'moved_fk');
    await runner.dropIndex('moved', 'moved_a');
    await runner.dropColumn('moved', 'c');
    await runner.dropTable('moved');
  }
}

(async () => {
  const source = new DataSource({
    type: 'mysql', connectorPackage: 'mysql2', ...server, username: server.user, entities: [Category, Author, Book, Genre, Prolific],
    migrations: [Migration1700000000000], migrationsTransactionMode: 'each',
  });
  await source.initialize();
  await step('synchronize', async () => { await source.synchronize(true); });
  await step('a second synchronize changes nothing', async () => {
    const log = await source.driver.createSchemaBuilder().log();
    same(log.upQueries.map((query) => query.query), []);
  });
  const authors = source.getRepository('Author');
  const books = source.getRepository('Book');
  await step('save, cascade, generated columns', async () => {
    const ann = await authors.save({ name: 'Ann', born: '1970-01-02', money: '12.50', tags: ['x', 'z'], info: { a: [1] }, list: ['p', 'q'] });
    same(ann.version, 1);
    const found = await authors.findOneBy({ id: ann.id });
    same([found.first, found.lower, found.tags, found.info, found.list, found.born, found.money],
      ['A', 'ann', ['x', 'z'], { a: [1] }, ['p', 'q'], '1970-01-02', '12.50']);
    await books.save([{ title: 'one', author: ann, genres: [{ name: 'g1' }, { name: 'g2' }] }, { title: 'two', author: ann, pages: 9 }]);
    found.money = '13.00';
    same((await authors.save(found)).version, 2);
  });
  await step('find with relations, paging and operators', async () => {
    const [rows, n] = await books.findAndCount({
      where: { title: In(['one', 'two']), pages: Between(0, 10), author: { name: Like('A%') } },
      relations: { author: true, genres: true }, order: { title: 'DESC', genres: { name: 'ASC' } }, skip: 0, take: 1,
    });
    same([rows[0].title, rows[0].author.name, n], ['two', 'Ann', 2]);
    same(await books.count({ where: { pages: MoreThan(1) } }), 1);
  });
  await step('query builder', async () => {
    const row = await books.createQueryBuilder('b').innerJoin('b.author', 'a').select('a.name', 'name').addSelect('SUM(b.pages)', 'pages')
      .groupBy('a.name').having('COUNT(*) > :n', { n: 1 }).getRawOne();
    same(row, { name: 'Ann', pages: '10' });
    const sub = await books.createQueryBuilder('b').where((qb) => `b.pages = ${qb.subQuery().select('MAX(c.pages)').from('Book', 'c').getQuery()}`).getMany();
    same(sub.map((b) => b.title), ['two']);
    await books.createQueryBuilder().update().set({ pages: () => 'pages + 1' }).where('title = :t', { t: 'one' }).execute();
    await authors.createQueryBuilder().insert().values({ name: 'Ann', money: 5 }).orUpdate(['money'], ['name']).execute();
    same((await authors.findOneBy({ name: 'Ann' })).money, '5.00');
    await authors.upsert({ name: 'Bea', money: '1.00' }, ['name']);
    same(await authors.createQueryBuilder('a').useIndex('by_birth').orderBy('a.id').getCount(), 2);
  });
  await step('views', async () => { same(await source.getRepository('Prolific').find(), [{ name: 'Ann', n: 2 }]); });
  await step('closure trees', async () => {
    const trees = source.getTreeRepository('Category');
    const root = await trees.save({ name: 'root' });
    const leaf = await trees.save({ name: 'leaf', parent: root });
    await trees.save({ name: 'leaf of leaf', parent: leaf });
    same((await trees.findDescendantsTree(root)).children[0].children[0].name, 'leaf of leaf');
    same(await trees.countDescendants(root), 3);
    same((await trees.findAncestors(leaf)).length, 2);
  });
  await step('soft delete, restore, remove', async () => {
    await authors.softDelete({ name: 'Bea' });
    same(await authors.count(), 1);
    await authors.restore({ name: 'Bea' });
    await authors.delete({ name: 'Ann' });
    same(await books.count(), 0);
  });
  await step('transactions with savepoints and locks', async () => {
    await assert.rejects(source.transaction('SERIALIZABLE', async (manager) => {
      await manager.getRepository('Genre').save({ name: 'gone' });
      await manager.transaction(async (inner) => inner.getRepository('Genre').save({ name: 'gone too' }));
      await manager.getRepository('Author').find({ lock: { mode: 'pessimistic_write' } });
      await manager.getRepository('Author').createQueryBuilder('a').setLock('pessimistic_write').setOnLocked('skip_locked').getMany();
      throw new Error('back');
    }));
    same(await source.getRepository('Genre').countBy({ name: Like('gone%') }), 0);
  });
  await step('migrations up and down', async () => {
    same((await source.runMigrations()).length, 1);
    await source.undoLastMigration();
  });
  await step('introspection', async () => {
    const runner = source.createQueryRunner();
    const table = await runner.getTable('author');
    same(table.columns.find((c) => c.name === 'first').generatedType, 'STORED');
    same(table.indices.map((i) => i.name).includes('by_birth'), true);
    same((await runner.getTable('book')).foreignKeys.length, 1);
    await runner.release();
  });
  await step('drop', async () => { await source.dropDatabase(); });
  await source.destroy();
})().catch((error) => console.log(`not ok typeorm -- ${error.message}`));
