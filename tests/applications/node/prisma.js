// Prisma: a client made from its schema, on the tables that its migrations write: relations, filters, upserts, groups, transactions.
'use strict';
const fs = require('fs');
const path = require('path');
const { spawnSync } = require('child_process');
const mysql = require('mysql2/promise');
const { server, step, same, assert } = require('./scenario');

const SCHEMA = `
generator client {
  provider = "prisma-client-js"
}
datasource db {
  provider = "mysql"
}
model Owner {
  id       Int      @id @default(autoincrement())
  mail     String   @unique @db.VarChar(100)
  age      Int?
  role     Role     @default(user)
  settings Json?
  balance  Decimal  @default(0) @db.Decimal(12, 2)
  seen     DateTime @default(now())
  pets     Pet[]
  groups   Group[]
}
model Pet {
  id      BigInt    @id @default(autoincrement()) @db.UnsignedBigInt
  ownerId Int?
  owner   Owner?    @relation(fields: [ownerId], references: [id], onDelete: Cascade)
  name    String    @db.Text
  born    DateTime? @db.Date
  tame    Boolean   @default(false)
  photo   Bytes?
  @@index([name(length: 20)])
}
model Group {
  id     Int     @id @default(autoincrement())
  name   String  @unique
  owners Owner[]
}
enum Role {
  user
  admin
}
`;

// What `prisma migrate` writes for it; the program that does so is no part of the package.
const MIGRATION = `
-- CreateTable
CREATE TABLE \`Owner\` (
    \`id\` INTEGER NOT NULL AUTO_INCREMENT,
    \`mail\` VARCHAR(100) NOT NULL,
    \`age\` INTEGER NULL,
    \`role\` ENUM('user', 'admin') NOT NULL DEFAULT 'user',
    \`settings\` JSON NULL,
    \`balance\` DECIMAL(12, 2) NOT NULL DEFAULT 0,
    \`seen\` DATETIME(3) NOT NULL DEFAULT CURRENT_TIMESTAMP(3),

    UNIQUE INDEX \`Owner_mail_key\`(\`mail\`),
    PRIMARY KEY (\`id\`)
) DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_unicode_ci;

-- CreateTable
CREATE TABLE \`Pet\` (
    \`id\` BIGINT UNSIGNED NOT NULL AUTO_INCREMENT,
    \`ownerId\` INTEGER NULL,
    \`name\` TEXT NOT NULL,
    \`born\` DATE NULL,
    \`tame\` BOOLEAN NOT NULL DEFAULT false,
    \`photo\` LONGBLOB NULL,

    INDEX \`Pet_name_idx\`(\`name\`(20)),
    PRIMARY KEY (\`id\`)
) DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_unicode_ci;

-- CreateTable
CREATE TABLE \`Group\` (
    \`id\` INTEGER NOT NULL AUTO_INCREMENT,
    \`name\` VARCHAR(191) NOT NULL,

    UNIQUE INDEX \`Group_name_key\`(\`name\`),
    PRIMARY KEY (\`id\`)
) DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_unicode_ci;

-- CreateTable
CREATE TABLE \`_GroupToOwner\` (
    \`A\` INTEGER NOT NULL,
    \`B\` INTEGER NOT NULL,

    UNIQUE INDEX \`_GroupToOwner_AB_unique\`(\`A\`, \`B\`),
    INDEX \`_GroupToOwner_B_index\`(\`B\`)
) DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_unicode_ci;

-- AddForeignKey
ALTER TABLE \`Pet\` ADD CONSTRAINT \`Pet_ownerId_fkey\` FOREIGN KEY (\`ownerId\`) REFERENCES \`Owner\`(\`id\`) ON DELETE CASCADE ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE \`_GroupToOwner\` ADD CONSTRAINT \`_GroupToOwner_A_fkey\` FOREIGN KEY (\`A\`) REFERENCES \`Group\`(\`id\`) ON DELETE CASCADE ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE \`_GroupToOwner\` ADD CONSTRAINT \`_GroupToOwner_B_fkey\` FOREIGN KEY (\`B\`) REFERENCES \`Owner\`(\`id\`) ON DELETE CASCADE ON UPDATE CASCADE;
`;

// The client's code; any program stands for the one that migrates, which is not asked.
function generate() {
  fs.mkdirSync('prisma', { recursive: true });
  fs.writeFileSync('prisma/schema.prisma', SCHEMA);
  fs.writeFileSync('prisma.config.js', "module.exports = { schema: 'prisma/schema.prisma' };\n");
  const program = path.join('node_modules', 'prisma', 'build', 'index.js');
  const env = { ...process.env, PRISMA_SCHEMA_ENGINE_BINARY: process.execPath, CHECKPOINT_DISABLE: '1' };
  const made = spawnSync(process.execPath, [program, 'generate'], { env, encoding: 'utf8' });
  if (made.status !== 0) throw new Error(made.stderr || made.stdout);
}

async function refused(promise, code) {
  try {
    await promise;
  } catch (error) {
    assert.strictEqual(error.code, code);
    return;
  }
  assert.fail(`no ${code}`);
}

async function main() {
  generate();
  const { PrismaClient, Prisma } = require('@prisma/client');
  const { PrismaMariaDb } = require('@prisma/adapter-mariadb');
  const plain = await mysql.createConnection({ ...server, multipleStatements: true });
  await step('migration', () => plain.query(MIGRATION));
  const prisma = new PrismaClient({ adapter: new PrismaMariaDb({ ...server, connectionLimit: 3 }) });

  await step('create with relations', async () => {
    const ann = await prisma.owner.create({
      data: {
        mail: 'ann@example.com',
        age: 41,
        role: 'admin',
        settings: { theme: 'dark', tags: ['a', 'b'] },
        balance: new Prisma.Decimal('10.50'),
        pets: { create: [{ name: 'Rex', born: new Date('2020-02-29'), photo: Buffer.from([0, 255, 10]) }, { name: 'Tom', tame: true }] },
        groups: { connectOrCreate: [{ where: { name: 'first' }, create: { name: 'first' } }] },
      },
      include: { pets: true, groups: true },
    });
    same(ann.pets.map((pet) => pet.name), ['Rex', 'Tom']);
    same(ann.groups.length, 1);
    assert.ok(ann.seen instanceof Date);
    const many = await prisma.owner.createMany({
      data: [{ mail: 'bob@example.com', age: 20 }, { mail: 'eve@example.com' }, { mail: 'ann@example.com' }],
      skipDuplicates: true,
    });
    same(many.count, 2);
  });

  await step('values come back', async () => {
    const rex = await prisma.pet.findFirstOrThrow({ where: { name: 'Rex' } });
    same([rex.id, rex.born.toISOString().slice(0, 10), rex.tame], [1n, '2020-02-29', false]);
    same([...rex.photo], [0, 255, 10]);
    const ann = await prisma.owner.findUniqueOrThrow({ where: { mail: 'ann@example.com' } });
    same([ann.balance.toFixed(2), ann.settings], ['10.50', { theme: 'dark', tags: ['a', 'b'] }]);
  });

  await step('filters', async () => {
    const mails = async (where) =>
      (await prisma.owner.findMany({ where, orderBy: { id: 'asc' } })).map((owner) => owner.mail[0]).join('');
    same(await mails({ OR: [{ age: { gt: 40 } }, { age: null }] }), 'ae');
    same(await mails({ mail: { contains: 'b@', endsWith: '.com' }, NOT: { role: 'admin' } }), 'b');
    same(await mails({ mail: { in: ['ann@example.com', 'eve@example.com'] } }), 'ae');
    same(await mails({ pets: { some: { tame: true } } }), 'a');
    same(await mails({ pets: { none: {} } }), 'be');
    same(await mails({ pets: { every: { name: { startsWith: 'R' } } } }), 'be');
    same(await mails({ groups: { some: { name: 'first' } } }), 'a');
    same(await mails({ settings: { path: '$.theme', equals: 'dark' } }), 'a');
    same(await mails({ settings: { path: '$.tags', array_contains: 'b' } }), 'a');
    same(await mails({ settings: { equals: Prisma.AnyNull } }), 'be');
  });

  await step('order, pages and distinct', async () => {
    const byPets = await prisma.owner.findMany({ orderBy: [{ pets: { _count: 'desc' } }, { mail: 'desc' }], take: 2 });
    same(byPets.map((owner) => owner.mail[0]), ['a', 'e']);
    const next = await prisma.owner.findMany({ cursor: { id: 1 }, skip: 1, take: 1, orderBy: { id: 'asc' } });
    same(next.map((owner) => owner.mail[0]), ['b']);
    same((await prisma.owner.findMany({ distinct: ['role'], orderBy: { id: 'asc' } })).length, 2);
    const counted = await prisma.owner.findMany({ select: { mail: true, _count: { select: { pets: true } } }, orderBy: { id: 'asc' } });
    same(counted.map((owner) => owner._count.pets), [2, 0, 0]);
  });

  await step('aggregates and groups', async () => {
    const all = await prisma.owner.aggregate({ _count: { _all: true, age: true }, _avg: { age: true }, _max: { balance: true } });
    same([all._count, all._avg.age, all._max.balance.toFixed(2)], [{ _all: 3, age: 2 }, 30.5, '10.50']);
    const groups = await prisma.owner.groupBy({
      by: ['role'],
      _count: { id: true },
      _sum: { age: true },
      having: { id: { _count: { gt: 0 } } },
      orderBy: { role: 'asc' },
    });
    same(groups.map((group) => [group.role, group._count.id, group._sum.age]), [['user', 2, 20], ['admin', 1, 41]]);
  });

  await step('update, upsert and delete', async () => {
    const ann = await prisma.owner.update({
      where: { mail: 'ann@example.com' },
      data: { age: { increment: 1 }, pets: { update: { where: { id: 2 }, data: { name: 'Tim' } } } },
      include: { pets: true },
    });
    same([ann.age, ann.pets.map((pet) => pet.name)], [42, ['Rex', 'Tim']]);
    const upsert = (age) =>
      prisma.owner.upsert({ where: { mail: 'zoe@example.com' }, create: { mail: 'zoe@example.com', age }, update: { age } });
    same([(await upsert(1)).age, (await upsert(2)).age], [1, 2]);
    same((await prisma.owner.updateMany({ where: { age: { lt: 30 } }, data: { balance: { multiply: 2 } } })).count, 2);
    await prisma.owner.update({ where: { id: 1 }, data: { groups: { set: [], create: { name: 'second' } } } });
    same(await prisma.group.count({ where: { owners: { some: {} } } }), 1);
    await prisma.owner.delete({ where: { mail: 'zoe@example.com' } });
    same((await prisma.pet.deleteMany({ where: { owner: { is: null } } })).count, 0);
  });

  await step('constraints', async () => {
    await refused(prisma.owner.create({ data: { mail: 'ann@example.com' } }), 'P2002');
    await refused(prisma.pet.create({ data: { name: 'Nobody', ownerId: 999 } }), 'P2003');
    await refused(prisma.owner.update({ where: { id: 999 }, data: { age: 1 } }), 'P2025');
    await refused(prisma.owner.create({ data: { mail: 'x'.repeat(101) } }), 'P2000');
  });

  await step('transactions', async () => {
    await assert.rejects(
      prisma.$transaction(
        async (inside) => {
          await inside.owner.create({ data: { mail: 'gone@example.com' } });
          throw new Error('back');
        },
        { isolationLevel: 'Serializable' },
      ),
    );
    const [count, made] = await prisma.$transaction([
      prisma.owner.count(),
      prisma.group.create({ data: { name: 'third' } }),
    ]);
    same([count, made.name], [3, 'third']);
  });

  await step('raw statements', async () => {
    const age = 42;
    const rows = await prisma.$queryRaw`SELECT id, mail, balance FROM Owner WHERE age = ${age}`;
    same(rows.map((row) => [row.id, Number(row.balance)]), [[1, 10.5]]);
    same(await prisma.$executeRaw`UPDATE Pet SET tame = ${true} WHERE name IN (${Prisma.join(['Rex', 'Tim'])})`, 2);
  });

  await step('cascades', async () => {
    await prisma.owner.delete({ where: { id: 1 } });
    same(await prisma.pet.count(), 0);
  });
  await prisma.$disconnect();
  await plain.end();
}

main().catch((error) => {
  console.log(`not ok run -- ${String(error.stack || error).replace(/\s+/g, ' ')}`);
  process.exitCode = 1;
});
