// Hibernate, Flyway, Liquibase, jOOQ and HikariCP over Connector/J: each step prints `ok NAME` or `not ok NAME -- reason`.

import com.zaxxer.hikari.HikariConfig;
import com.zaxxer.hikari.HikariDataSource;
import jakarta.persistence.*;
import java.math.BigDecimal;
import java.nio.file.Files;
import java.nio.file.Path;
import java.sql.*;
import java.time.*;
import java.util.*;
import liquibase.Contexts;
import liquibase.Liquibase;
import liquibase.database.DatabaseFactory;
import liquibase.database.jvm.JdbcConnection;
import liquibase.resource.DirectoryResourceAccessor;
import org.flywaydb.core.Flyway;
import org.hibernate.Session;
import org.hibernate.SessionFactory;
import org.hibernate.cfg.Configuration;
import org.jooq.DSLContext;
import org.jooq.SQLDialect;
import org.jooq.impl.DSL;
import org.jooq.impl.SQLDataType;

public class Scenario {
    interface Body { void run() throws Exception; }

    static void step(String name, Body body) {
        try {
            body.run();
            System.out.println("ok " + name);
        } catch (Throwable error) {
            Throwable cause = error;
            while (cause.getCause() != null && cause.getCause() != cause) cause = cause.getCause();
            System.out.println("not ok " + name + " -- " + String.valueOf(cause).replaceAll("\\s+", " "));
        }
    }

    static void same(Object left, Object right) {
        if (!Objects.equals(String.valueOf(left), String.valueOf(right)))
            throw new AssertionError("got " + left + ", wanted " + right);
    }

    enum Level { LOW, HIGH }

    @Embeddable
    public static class Address { public String street; public String city; }

    @Entity(name = "Person")
    @Table(name = "person", indexes = @Index(columnList = "name, born"), uniqueConstraints = @UniqueConstraint(columnNames = {"mail"}))
    @Inheritance(strategy = InheritanceType.JOINED)
    public static class Person {
        @Id @GeneratedValue(strategy = GenerationType.IDENTITY) public Long id;
        @Column(nullable = false, length = 80) public String name;
        public String mail;
        @Enumerated(EnumType.STRING) public Level level;
        @Enumerated(EnumType.ORDINAL) public Level grade;
        public LocalDate born;
        public LocalDateTime seen;
        public Instant at;
        @Column(precision = 12, scale = 3) public BigDecimal money;
        public boolean active;
        public UUID token;
        @Lob public String notes;
        public byte[] raw;
        @Version public int version;
        @Embedded public Address address;
        @ElementCollection public Set<String> nicknames = new TreeSet<>();
        @OneToMany(mappedBy = "owner", cascade = CascadeType.ALL, orphanRemoval = true) public List<Pet> pets = new ArrayList<>();
        @ManyToMany public Set<Person> friends = new HashSet<>();
    }

    @Entity(name = "Worker")
    @Table(name = "worker")
    public static class Worker extends Person { public int salary; }

    @Entity(name = "Pet")
    @Table(name = "pet")
    public static class Pet {
        @Id @GeneratedValue(strategy = GenerationType.SEQUENCE) public Long id;
        public String name;
        public int weight;
        @ManyToOne(fetch = FetchType.LAZY) public Person owner;
    }

    static String url;

    public static void main(String[] arguments) throws Exception {
        String parameters = "?allowPublicKeyRetrieval=true&useSSL=false&allowMultiQueries=true";
        url = "jdbc:mysql://" + System.getenv("EVENKEEL_HOST") + ":" + System.getenv("EVENKEEL_PORT") + "/" + System.getenv("EVENKEEL_DATABASE") + parameters;
        hibernate();
        flyway();
        liquibase();
        jooq();
        pool();
        metadata();
    }

    static Connection connect() throws SQLException { return DriverManager.getConnection(url, "root", ""); }

    static void hibernate() throws Exception {
        SessionFactory[] made = new SessionFactory[1];
        Configuration configuration = new Configuration()
            .setProperty("hibernate.connection.url", url).setProperty("hibernate.connection.username", "root").setProperty("hibernate.connection.password", "")
            .setProperty("hibernate.jdbc.batch_size", "20")
            .addAnnotatedClass(Person.class).addAnnotatedClass(Worker.class).addAnnotatedClass(Pet.class);
        step("hibernate: create the schema", () -> made[0] = configuration.setProperty("hibernate.hbm2ddl.auto", "create").buildSessionFactory());
        step("hibernate: validate and update the schema", () -> {
            configuration.setProperty("hibernate.hbm2ddl.auto", "validate").buildSessionFactory().close();
            configuration.setProperty("hibernate.hbm2ddl.auto", "update").buildSessionFactory().close();
        });
        SessionFactory factory = made[0];
        if (factory == null) return;
        step("hibernate: persist all kinds", () -> factory.inTransaction(session -> {
            for (int n = 0; n < 30; n++) {
                Person person = n % 3 == 0 ? new Worker() : new Person();
                if (person instanceof Worker worker) worker.salary = n * 100;
                person.name = "p" + n;
                person.mail = n + "@x";
                person.level = Level.values()[n % 2];
                person.grade = Level.values()[n % 2];
                person.born = LocalDate.of(1990 + n % 10, 1 + n % 12, 1);
                person.seen = LocalDateTime.of(2024, 2, 29, 1, 2, 3, 456789000);
                person.at = Instant.parse("2024-01-01T00:00:00Z");
                person.money = new BigDecimal(n + ".125");
                person.active = n % 2 == 0;
                person.token = new UUID(n, n);
                person.notes = "long text";
                person.raw = new byte[] {0, 1, (byte) 255};
                person.address = new Address();
                person.address.city = "c" + n % 4;
                person.nicknames.addAll(List.of("a" + n, "b"));
                for (int k = 0; k < n % 4; k++) {
                    Pet pet = new Pet();
                    pet.name = "pet" + k;
                    pet.weight = k * n;
                    pet.owner = person;
                    person.pets.add(pet);
                }
                session.persist(person);
            }
        }));
        step("hibernate: read back", () -> factory.inTransaction(session -> {
            Person person = session.createQuery("from Person where name = 'p5'", Person.class).getSingleResult();
            same(person.money, "5.125");
            same(person.seen.getSecond(), 3);
            same(person.token, new UUID(5, 5));
            same(person.raw.length, 3);
            same(new TreeSet<>(person.nicknames), "[a5, b]");
            same(person.at, "2024-01-01T00:00:00Z");
        }));
        step("hibernate: HQL", () -> factory.inTransaction(session -> {
            same(one(session, "select count(*) from Person p where p.born > local date"), 0);
            same(one(session, "select sum(p.money) from Person p where p.level = Scenario$Level.LOW"), "211.875");
            same(one(session, "select count(distinct p.address.city) from Person p"), 4);
            same(session.createQuery("select p.address.city, count(x), avg(x.weight) from Person p left join p.pets x group by p.address.city having count(x) > 6 order by 2 desc", Object[].class).getResultList().size(), 3);
            same(session.createQuery("from Person p where exists (select 1 from Pet x where x.owner = p and x.weight > 40)", Person.class).getResultList().size(), 2);
            same(session.createQuery("from Person p where 'b' member of p.nicknames and size(p.pets) = 3 order by p.name", Person.class).setMaxResults(3).setFirstResult(1).getResultList().get(0).name, "p15");
            same(one(session, "select max(extract(year from p.born)) from Person p"), 1999);
            same(session.createQuery("select p.name, row_number() over (partition by p.level order by p.id) from Person p", Object[].class).getResultList().size(), 30);
            same(session.createQuery("with a as (select p.id as id, p.name as name from Person p where p.id < 5) select a.name from a a", String.class).getResultList().size(), 4);
            same(session.createQuery("select p.name from Person p where p.name like 'p1%' union select x.name from Pet x", String.class).getResultList().size(), 14);
            same(one(session, "select listagg(p.name, ',') within group (order by p.id) from Person p where p.id < 4"), "p0,p1,p2");
            same(one(session, "select cast(p.money as string) from Person p where p.name = 'p1'"), "1.125");
            same(one(session, "select timestampdiff(day, p.seen, p.seen + 3 day) from Person p where p.name = 'p1'".replace("timestampdiff(day, p.seen, p.seen + 3 day)", "(p.seen + 3 day - p.seen) by day")), 3);
        }));
        step("hibernate: bulk update and delete of joined classes", () -> factory.inTransaction(session -> {
            same(session.createMutationQuery("update Worker w set w.salary = w.salary + 1, w.name = concat(w.name, '!') where w.salary > 1000").executeUpdate(), 6);
            same(session.createMutationQuery("update Person p set p.active = false where p.id in (select x.owner.id from Pet x where x.weight > 10)").executeUpdate() > 0, true);
            session.createMutationQuery("delete from Pet x where x.owner.id > 20").executeUpdate();
            same(session.createMutationQuery("insert into Pet (id, name, weight) select p.id + 1000, p.name, 1 from Person p where p.id < 6").executeUpdate(), 5);
        }));
        step("hibernate: locks and versions", () -> factory.inTransaction(session -> {
            Person person = session.find(Person.class, 1L, LockModeType.PESSIMISTIC_WRITE);
            person.name = "new";
            session.flush();
            same(person.version, 1);
            session.createQuery("from Person", Person.class).setLockMode(LockModeType.PESSIMISTIC_READ).setHint("jakarta.persistence.lock.timeout", -2).setMaxResults(2).getResultList();
        }));
        step("hibernate: remove with orphans", () -> factory.inTransaction(session -> {
            Person person = session.find(Person.class, 4L);
            person.pets.clear();
            person.friends.add(session.find(Person.class, 5L));
            session.flush();
            session.remove(person);
        }));
        factory.close();
    }

    static Object one(Session session, String query) { return session.createQuery(query, Object.class).getSingleResult(); }

    static void flyway() throws Exception {
        Path folder = Files.createTempDirectory("flyway");
        Files.writeString(folder.resolve("V1__one.sql"), "CREATE TABLE f1 (a INT PRIMARY KEY);\nINSERT INTO f1 VALUES (1), (2);\n");
        Files.writeString(folder.resolve("V2__two.sql"), "DELIMITER //\nCREATE PROCEDURE fp() BEGIN SELECT COUNT(*) FROM f1; END//\nDELIMITER ;\nCREATE VIEW fv AS SELECT * FROM f1;\n/*!50003 CREATE TRIGGER ft BEFORE INSERT ON f1 FOR EACH ROW SET NEW.a = NEW.a + 10 */;\n");
        Files.writeString(folder.resolve("R__again.sql"), "CREATE OR REPLACE VIEW fw AS SELECT a + 1 AS b FROM f1;\n");
        Flyway flyway = Flyway.configure().dataSource(url, "root", "").locations("filesystem:" + folder).baselineOnMigrate(true).baselineVersion("0").cleanDisabled(false).load();
        step("flyway: migrate, validate, info, repair", () -> {
            same(flyway.migrate().migrationsExecuted, 3);
            flyway.validate();
            same(flyway.info().applied().length, 4);
            flyway.repair();
            same(flyway.migrate().migrationsExecuted, 0);
        });
        step("flyway: clean", () -> { flyway.clean(); });
    }

    static void liquibase() throws Exception {
        Path folder = Files.createTempDirectory("liquibase");
        Files.writeString(folder.resolve("changes.yaml"), String.join("\n",
            "databaseChangeLog:",
            "- changeSet: {id: 1, author: a, changes: [{createTable: {tableName: l1, remarks: 'of things', columns: [{column: {name: id, type: bigint, autoIncrement: true, constraints: {primaryKey: true}}}, {column: {name: name, type: varchar(50), remarks: 'a name', constraints: {nullable: false, unique: true, uniqueConstraintName: u1}}}, {column: {name: ok, type: boolean, defaultValueBoolean: true}}, {column: {name: at, type: datetime, defaultValueComputed: CURRENT_TIMESTAMP}}]}}]}",
            "- changeSet: {id: 2, author: a, changes: [{createTable: {tableName: l2, columns: [{column: {name: l1_id, type: bigint}}]}}, {addForeignKeyConstraint: {baseTableName: l2, baseColumnNames: l1_id, constraintName: lfk, referencedTableName: l1, referencedColumnNames: id, onDelete: CASCADE}}, {createIndex: {tableName: l1, indexName: i1, columns: [{column: {name: at}}]}}, {addColumn: {tableName: l1, columns: [{column: {name: extra, type: clob, afterColumn: id}}]}}, {renameColumn: {tableName: l1, oldColumnName: ok, newColumnName: fine, columnDataType: bit(1)}}, {createView: {viewName: lv, selectQuery: 'select id from l1'}}]}",
            "- changeSet: {id: 3, author: a, changes: [{insert: {tableName: l1, columns: [{column: {name: name, value: x}}]}}, {modifyDataType: {tableName: l1, columnName: name, newDataType: varchar(99)}}, {dropNotNullConstraint: {tableName: l1, columnName: name, columnDataType: varchar(99)}}, {addDefaultValue: {tableName: l1, columnName: name, defaultValue: q}}, {addLookupTable: {existingTableName: l1, existingColumnName: name, newTableName: names, newColumnName: name, newColumnDataType: varchar(99), constraintName: fk_names}}], rollback: []}"));
        step("liquibase: update, status, rollback, drop all", () -> {
            try (Connection connection = connect()) {
                var database = DatabaseFactory.getInstance().findCorrectDatabaseImplementation(new JdbcConnection(connection));
                Liquibase liquibase = new Liquibase("changes.yaml", new DirectoryResourceAccessor(folder), database);
                liquibase.update(new Contexts());
                same(liquibase.listUnrunChangeSets(new Contexts(), new liquibase.LabelExpression()).size(), 0);
                liquibase.rollback(2, "");
                liquibase.dropAll();
            }
        });
    }

    static void jooq() throws Exception {
        try (Connection connection = connect()) {
            DSLContext sql = DSL.using(connection, SQLDialect.MYSQL);
            var t = DSL.table(DSL.name("j1"));
            var id = DSL.field(DSL.name("id"), SQLDataType.INTEGER.identity(true));
            var name = DSL.field(DSL.name("name"), SQLDataType.VARCHAR(20).nullable(false).defaultValue("n"));
            var n = DSL.field(DSL.name("n"), SQLDataType.DECIMAL(10, 2));
            step("jooq: definitions", () -> {
                sql.createTable(t).columns(id, name, n).constraints(DSL.primaryKey(id), DSL.check(n.gt(new BigDecimal(-1)))).execute();
                sql.createIndex("ji").on(t, name.asc(), n.desc()).execute();
                sql.alterTable(t).addColumn("more", SQLDataType.JSON).execute();
                sql.createView("jv", "a").as(DSL.select(id).from(t)).execute();
            });
            step("jooq: changes", () -> {
                for (int k = 0; k < 8; k++) sql.insertInto(t, name, n).values("n" + k % 3, new BigDecimal(k)).execute();
                sql.insertInto(t, id, name).values(1, "dup").onDuplicateKeyUpdate().set(name, "was dup").execute();
                sql.insertInto(t, id, name).values(1, "dup").onDuplicateKeyIgnore().execute();
                same(sql.update(t).set(n, n.plus(BigDecimal.ONE)).where(name.eq("n1")).orderBy(id).limit(2).execute(), 2);
                same(sql.deleteFrom(t).where(id.in(DSL.select(DSL.field("x.id", Integer.class)).from(DSL.table("(select max(id) id from j1) x")))).execute(), 1);
            });
            step("jooq: queries", () -> {
                same(sql.fetchCount(t), 7);
                same(sql.select(name, DSL.sum(n), DSL.groupConcat(id).orderBy(id.desc()).separator("-")).from(t).groupBy(DSL.rollup(name)).fetch().size(), 5);
                same(sql.select(id, DSL.rank().over().partitionBy(name).orderBy(n), DSL.lag(n, 1).over(DSL.orderBy(id))).from(t).fetch().size(), 7);
                same(sql.select(DSL.jsonObject(DSL.key("a").value(1)), DSL.jsonArrayAgg(id)).from(t).fetchOne().size(), 2);
                same(sql.select(DSL.multisetAgg(id)).from(t).fetch().size(), 1);
                same(sql.withRecursive("r", "k").as(DSL.select(DSL.inline(1)).unionAll(DSL.select(DSL.field("k", Integer.class).plus(1)).from("r").where("k < 5"))).select().from("r").fetch().size(), 5);
                same(sql.select(id).from(t).except(DSL.select(id).from(t).where(id.lt(3))).fetch().size(), 5);
                same(sql.selectFrom(t).where(DSL.row(id, name).in(DSL.row(2, "n1"))).forUpdate().skipLocked().fetch().size(), 1);
                same(sql.meta().getTables("j1").get(0).getIndexes().size(), 1);
            });
        }
    }

    static void pool() throws Exception {
        step("hikari: statements over a pool", () -> {
            HikariConfig config = new HikariConfig();
            config.setJdbcUrl(url + "&useServerPrepStmts=true&cachePrepStmts=true&rewriteBatchedStatements=true&useLocalSessionState=true&elideSetAutoCommits=true");
            config.setUsername("root");
            config.setMaximumPoolSize(3);
            config.setTransactionIsolation("TRANSACTION_READ_COMMITTED");
            try (HikariDataSource pool = new HikariDataSource(config); Connection connection = pool.getConnection()) {
                connection.createStatement().execute("CREATE TABLE h1 (a INT PRIMARY KEY, b VARCHAR(10))");
                connection.setAutoCommit(false);
                PreparedStatement insert = connection.prepareStatement("INSERT INTO h1 VALUES (?, ?)");
                for (int k = 0; k < 500; k++) { insert.setInt(1, k); insert.setString(2, "v" + k); insert.addBatch(); }
                same(insert.executeBatch().length, 500);
                connection.commit();
                connection.setReadOnly(true);
                ResultSet rows = connection.createStatement().executeQuery("SELECT COUNT(*) FROM h1");
                rows.next();
                same(rows.getInt(1), 500);
                connection.rollback();
            }
        });
    }

    static void metadata() throws Exception {
        step("connector/j: metadata", () -> {
            try (Connection connection = connect()) {
                connection.createStatement().execute("CREATE TABLE m1 (id INT PRIMARY KEY AUTO_INCREMENT, a VARCHAR(10) NOT NULL DEFAULT 'x' COMMENT 'c', b DECIMAL(5,2), KEY k (a, b))");
                connection.createStatement().execute("CREATE TABLE m2 (m INT, CONSTRAINT mf FOREIGN KEY (m) REFERENCES m1 (id) ON DELETE SET NULL)");
                connection.createStatement().execute("CREATE PROCEDURE mp(IN a INT, OUT b VARCHAR(9)) SET b = a");
                DatabaseMetaData data = connection.getMetaData();
                String catalog = connection.getCatalog();
                same(count(data.getTables(catalog, null, "m%", new String[] {"TABLE"})), 2);
                same(count(data.getColumns(catalog, null, "m1", null)), 3);
                same(count(data.getPrimaryKeys(catalog, null, "m1")), 1);
                same(count(data.getIndexInfo(catalog, null, "m1", false, false)), 3);
                same(count(data.getImportedKeys(catalog, null, "m2")), 1);
                same(count(data.getExportedKeys(catalog, null, "m1")), 1);
                same(count(data.getCrossReference(catalog, null, "m1", catalog, null, "m2")), 1);
                same(count(data.getProcedures(catalog, null, "mp")), 1);
                same(count(data.getProcedureColumns(catalog, null, "mp", null)), 2);
                same(count(data.getTypeInfo()) > 20, true);
                same(count(data.getCatalogs()) > 3, true);
                same(count(data.getTablePrivileges(catalog, null, "m1")) >= 0, true);
                same(count(data.getColumnPrivileges(catalog, null, "m1", null)) >= 0, true);
                same(count(data.getVersionColumns(catalog, null, "m1")) >= 0, true);
                same(count(data.getBestRowIdentifier(catalog, null, "m1", 1, true)), 1);
                same(count(data.getFunctions(catalog, null, null)), 0);
                same(data.getSQLKeywords().contains("JSON_TABLE"), true);
                CallableStatement call = connection.prepareCall("{call mp(?, ?)}");
                call.setInt(1, 7);
                call.registerOutParameter(2, Types.VARCHAR);
                call.execute();
                same(call.getString(2), "7");
            }
        });
    }

    static int count(ResultSet rows) throws SQLException {
        int found = 0;
        while (rows.next()) found++;
        return found;
    }
}
