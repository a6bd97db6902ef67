// Sequelize 6: models of all types, sync and alter, associations, queries, transactions, introspection.
'use strict';
const { server, step, same, assert } = require('./scenario');
const { Sequelize, DataTypes, Op } = require('sequelize');

(async () => {
  const db = new Sequelize(server.database, server.user, server.password, {
    host: server.host, port: server.port, dialect: 'mysql', logging: false,
  });
  const User = db.define('User', {
    name: { type: DataTypes.STRING(60), allowNull: false, unique: true },
    bio: DataTypes.TEXT('medium'),
    age: { type: DataTypes.INTEGER.UNSIGNED, defaultValue: 18 },
    score: DataTypes.DECIMAL(8, 2),
    born: DataTypes.DATEONLY,
    seen: DataTypes.DATE(6),
    kind: DataTypes.ENUM('a', 'b'),
    data: DataTypes.JSON,
    token: { type: DataTypes.UUID, defaultValue: DataTypes.UUIDV4 },
    active: { type: DataTypes.BOOLEAN, defaultValue: true },
    raw: DataTypes.BLOB('tiny'),
    big: DataTypes.BIGINT,
    ratio: DataTypes.DOUBLE,
  }, { paranoid: true, version: true, indexes: [{ fields: ['age', { name: 'name', length: 10, order: 'DESC' }] }] });
  const Post = db.define('Post', { title: DataTypes.STRING, views: { type: DataTypes.INTEGER, defaultValue: 0 } });
  const Tag = db.define('Tag', { label: { type: DataTypes.STRING(20), primaryKey: true } }, { timestamps: false });
  User.hasMany(Post, { onDelete: 'CASCADE' });
  Post.belongsTo(User);
  Post.belongsToMany(Tag, { through: 'PostTags' });
  Tag.belongsToMany(Post, { through: 'PostTags' });

  await step('sync with force', async () => { await db.authenticate(); await db.sync({ force: true }); });
  await step('sync with alter', async () => { await db.sync({ alter: true }); await db.sync({ alter: true }); });
  await step('bulkCreate, findOrCreate, upsert', async () => {
    await User.bulkCreate(['ann', 'bob', 'cid'].map((name, i) => ({
      name, age: 20 + i, score: `${i}.25`, born: '2001-02-03', kind: i % 2 ? 'a' : 'b', data: { deep: { n: i } }, big: '9007199254740993',
    })));
    const [, made] = await User.findOrCreate({ where: { name: 'dan' }, defaults: { age: 50 } });
    same(made, true);
    await User.upsert({ name: 'dan', age: 51 });
    same((await User.findOne({ where: { name: 'dan' } })).age, 51);
    await User.bulkCreate([{ name: 'dan', age: 52 }], { updateOnDuplicate: ['age'] });
    same((await User.findOne({ where: { name: 'dan' } })).age, 52);
    same((await User.findOne({ where: { name: 'ann' } })).big, '9007199254740993');
  });
  await step('operators', async () => {
    const names = async (where) => (await User.findAll({ where, order: [['name', 'ASC']] })).map((u) => u.name);
    same(await names({ age: { [Op.between]: [20, 21] } }), ['ann', 'bob']);
    same(await names({ [Op.or]: [{ name: { [Op.startsWith]: 'c' } }, { age: { [Op.gt]: 50 } }] }), ['cid', 'dan']);
    same(await names({ name: { [Op.regexp]: '^[a-b]' } }), ['ann', 'bob']);
    same(await names({ name: { [Op.notIn]: ['ann'] }, data: { deep: { n: 1 } } }), ['bob']);
    same(await names(db.where(db.fn('char_length', db.col('name')), 3)), ['ann', 'bob', 'cid', 'dan']);
    same(await names(db.json('data.deep.n', 2)), ['cid']);
  });
  await step('associations with include', async () => {
    const ann = await User.findOne({ where: { name: 'ann' } });
    const post = await ann.createPost({ title: 'one' });
    await ann.createPost({ title: 'two', views: 5 });
    await Tag.bulkCreate([{ label: 'x' }, { label: 'y' }]);
    await post.setTags(['x', 'y']);
    const found = await User.findAll({
      include: [{ model: Post, include: [{ model: Tag, where: { label: 'x' }, required: false }], separate: false }],
      order: [['name', 'ASC'], [Post, 'title', 'ASC']], limit: 2, subQuery: true,
    });
    same(found.map((u) => u.Posts.map((p) => p.Tags.map((t) => t.label))), [[['x'], []], []]);
    same(await User.count({ include: { model: Post, required: true }, distinct: true }), 1);
    const { rows, count } = await Post.findAndCountAll({ limit: 1, order: [['id', 'DESC']], include: User });
    same([rows[0].title, count], ['two', 2]);
  });
  await step('aggregates and literals', async () => {
    same(await User.sum('age'), 20 + 21 + 22 + 52);
    same(await Post.findAll({
      attributes: ['UserId', [db.fn('COUNT', db.col('id')), 'n'], [db.literal('(SELECT MAX(views) FROM Posts)'), 'm']],
      group: ['UserId'], having: db.literal('n > 1'), raw: true,
    }), [{ UserId: 1, n: 2, m: 5 }]);
  });
  await step('increment, update, destroy, restore', async () => {
    await Post.increment({ views: 2 }, { where: { title: 'one' } });
    same((await Post.findOne({ where: { title: 'one' } })).views, 2);
    same((await User.update({ age: 1 }, { where: { age: { [Op.lt]: 21 } }, limit: 1 }))[0], 1);
    await User.destroy({ where: { name: 'bob' } });
    same(await User.count(), 3);
    await User.restore({ where: { name: 'bob' } });
    same(await User.count(), 4);
  });
  await step('transactions, savepoints, locks', async () => {
    await assert.rejects(db.transaction({ isolationLevel: 'REPEATABLE READ' }, async (t) => {
      await User.findAll({ lock: t.LOCK.UPDATE, skipLocked: true, transaction: t });
      await Tag.create({ label: 'z' }, { transaction: t });
      await db.transaction({ transaction: t }, async (inner) => Tag.create({ label: 'q' }, { transaction: inner }));
      throw new Error('back');
    }));
    same(await Tag.count(), 2);
  });
  await step('errors are recognized', async () => {
    await assert.rejects(User.create({ name: 'ann' }), { name: 'SequelizeUniqueConstraintError' });
    await assert.rejects(Post.create({ UserId: 999 }), { name: 'SequelizeForeignKeyConstraintError' });
    await assert.rejects(db.query('select * from nowhere'), { name: 'SequelizeDatabaseError' });
  });
  await step('query interface', async () => {
    const q = db.getQueryInterface();
    await q.createTable('plain', { id: { type: DataTypes.INTEGER, primaryKey: true, autoIncrement: true }, a: DataTypes.INTEGER });
    await q.addColumn('plain', 'b', { type: DataTypes.STRING, defaultValue: 'x', after: 'id' });
    await q.changeColumn('plain', 'b', { type: DataTypes.STRING(99), allowNull: false });
    await q.renameColumn('plain', 'b', 'c');
    await q.addIndex('plain', ['a'], { name: 'plain_a' });
    await q.addConstraint('plain', { fields: ['c'], type: 'unique', name: 'plain_c' });
    await q.addConstraint('plain', { fields: ['a'], type: 'foreign key', references: { table: 'Posts', field: 'id' }, name: 'plain_fk' });
    same((await q.showIndex('plain')).map((i) => i.name).sort(), ['PRIMARY', 'plain_a', 'plain_c']);
    same(Object.keys(await q.describeTable('plain')), ['id', 'c', 'a']);
    same((await q.getForeignKeyReferencesForTable('plain')).map((k) => k.constraintName), ['plain_fk']);
    await q.removeConstraint('plain', 'plain_fk');
    await q.removeIndex('plain', 'plain_a');
    await q.removeColumn('plain', 'c');
    assert((await q.showAllTables()).includes('plain'));
    await q.dropTable('plain');
  });
  await step('drop', async () => { await db.drop(); });
  await db.close();
})();
