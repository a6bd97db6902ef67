-- What installers, migrations, ORMs and dumps of known applications ask of a server, each construct in its smallest form,
-- named by who sends it. Both servers have to answer each alike.

-- Django 5.2: migrations and its own suite.
create table `django_migrations` (`id` bigint auto_increment not null primary key, `app` varchar(255) not null, `name` varchar(255) not null, `applied` datetime(6) not null);
create table `positive` (`id` integer auto_increment not null primary key, `n` integer unsigned not null check (`n` >= 0), `j` json not null, `b` bool not null);
alter table `positive` add constraint `positive_n_lt` check (`n` < 1000);
insert into `positive` (`n`, `j`, `b`) values (1, '{"a": [1, 2]}', true) returning `id`;
insert into `positive` (`n`, `j`, `b`) values (1, '{"a": [1, 2]}', true), (7, '{"b": null}', false);
insert into `positive` (`n`, `j`, `b`) values (1000, 'null', true);
select `positive`.`n` from `positive` where json_contains(`positive`.`j`, '2', '$."a"');
select `positive`.`n` from `positive` where json_extract(`positive`.`j`, '$."b"') = json_extract('null', '$');
select `positive`.`n`, `positive`.`j` -> '$."a"[1]' as v from `positive` where `positive`.`j` -> '$."a"[1]' > 1;
select `n` from `positive` where `b` like binary '1';
select cast(`n` as char), regexp_like(cast(`n` as char), '^[0-9]$', 'c') from `positive`;
create table `author` (`id` bigint auto_increment not null primary key, `name` varchar(50) not null, `born` date null, `full` varchar(60) generated always as (concat(`name`, ' ', coalesce(year(`born`), '?'))) stored, `lower_name` varchar(50) generated always as (lower(`name`)) virtual);
create index `author_upper` on `author` ((upper(`name`)), `born` desc);
insert into `author` (`name`, `born`) values ('Jane', '1775-12-16'), ('jane', null), ('Zoë', '1990-01-31');
select * from `author` order by `author`.`name` asc, `id`;
select `name`, row_number() over (partition by `lower_name` order by `born` desc) as r, lag(`name`, 1, 'none') over (order by `id`) as l from `author` order by `id`;
select `a`.`id`, exists(select 1 as `x` from `author` u0 where u0.`lower_name` = `a`.`lower_name` and not (u0.`id` = `a`.`id`) limit 1) as `twin` from `author` a order by 1;
select count(*) from (select distinct `lower_name` as `col1`, count(*) as `n` from `author` group by 1 having count(*) > 1 order by null) subquery;
select timestampdiff(microsecond, `born`, '2000-01-01') from `author` order by `id`;
select extract(year_month from `born`), dayofweek(`born`), weekday(`born`) + 1, week(`born`, 3), convert_tz(cast(`born` as datetime), 'UTC', '+02:00') from `author` order by `id`;
-- known: EXPLAIN shows plans of our own
explain select 1 from `author` where `id` = 1;
(select `id` from `author` order by `name` limit 1) union all (select 10) order by 1 desc limit 2;
select `id` from `author` where `id` in (1, 2) for update of `author` skip locked;
update `author` set `name` = case when (`id` = 1) then 'J' when (`id` = 2) then 'K' else null end where `id` in (1, 2);
delete `author` from `author` inner join `positive` on (`author`.`id` = `positive`.`id`) where `positive`.`n` = 7;
insert into `author` (`id`, `name`) values (1, 'X') as new on duplicate key update `name` = new.`name`;
insert into `author` (`id`, `name`) values (1, 'Y') on duplicate key update `name` = values(`name`), `id` = last_insert_id(`id`);
insert ignore into `author` (`id`, `name`) values (1, 'Z'), (9, 'nine');
select `id`, `name`, `full` from `author` order by `id`;
-- known: a longer column is changed in place, so no rows are affected
alter table `author` modify `name` varchar(80) null;
alter table `author` rename column `born` to `birth`;
alter table `author` drop index `author_upper`;
alter table `author` rename column `born` to `b2`;
select column_name, data_type, character_maximum_length, numeric_precision, extra, generation_expression, column_default from information_schema.columns where table_name = 'author' and table_schema = database() order by ordinal_position;
select kc.`constraint_name`, kc.`column_name`, kc.`referenced_table_name`, c.`constraint_type` from information_schema.key_column_usage as kc, information_schema.table_constraints as c where kc.table_schema = database() and c.table_schema = kc.table_schema and c.constraint_name = kc.constraint_name and kc.table_name = 'positive' order by kc.`ordinal_position`;
select cc.constraint_name, cc.check_clause from information_schema.check_constraints as cc, information_schema.table_constraints as tc where cc.constraint_schema = database() and tc.table_schema = cc.constraint_schema and cc.constraint_name = tc.constraint_name and tc.constraint_type = 'CHECK' order by 1;

-- SQLAlchemy: dialect suites.
create temporary table `tt` (id integer not null, primary key (id));
create or replace view `author_v` as select id, name from author;
select table_name from information_schema.tables where table_schema = database() and table_type = 'VIEW';
show full tables from `answers_alike`;
show create table `tt`;
show create table `positive`;
create table `computed` (`x` integer, `norm` integer generated always as (x + 42), `stored` integer generated always as (x * 2) stored not null);
insert into `computed` (x) values (1);
select * from `computed`;
select case json_extract(`j`, '$."a"') when 'null' then null else json_extract(`j`, '$."a"') end from `positive`;
select cast(json_extract('{"k": 12.5}', '$.k') as decimal(10, 4)), json_unquote(json_extract('{"k": "v"}', '$.k'));
create table `seq_like` (id integer not null auto_increment, primary key (id)) auto_increment=5 comment='x''y' engine=InnoDB row_format=dynamic default charset=utf8mb4;
show create table `seq_like`;
with recursive t(n) as (select 1 union all select n + 1 from t where n < 5) select sum(n) from t;
select * from (select 1 as a) as q cross join lateral (select q.a + 1 as b) as l;
values row(1, 'a'), row(2, 'b') order by 1 desc;
select 1 from dual where (1, 2) in ((1, 2), (3, 4));
select 1 intersect select 1 except select 2;
select @@transaction_isolation, @@sql_mode like '%STRICT_TRANS%';
set session transaction isolation level read committed;
set session transaction isolation level repeatable read;

-- Knex, TypeORM, Sequelize.
create table if not exists `knex_migrations` (`id` int unsigned not null auto_increment primary key, `name` varchar(255), `batch` int, `migration_time` timestamp);
create table `geo` (`id` int not null auto_increment, `kind` enum ('a', 'b', 'c') not null default 'b', `tags` set ('x', 'y') null, `uuid` char(36) not null default (uuid()), `created` datetime(6) not null default current_timestamp(6) on update current_timestamp(6), `data` text default null, unique index `IDX_kind` (`kind`, `id`), primary key (`id`)) engine=InnoDB;
insert into `geo` (`id`, `kind`, `tags`, `data`) values (default, default, 'x,y', 'd');
select `id`, `kind`, `tags`, length(`uuid`), `data` from `geo` limit 1 offset 0;
select `id` from `geo` limit 1 offset 5;
prepare q from 'select `id` from `geo` limit ?, ?';
set @o = 0, @c = 10;
execute q using @o, @c;
alter table `geo` add column `extra` json null after `kind`, add index `by_data` (`data`(20)), change `tags` `labels` set ('x', 'y', 'z') null, drop index `IDX_kind`;
alter table `geo` add constraint `ck` check (`id` > 0), alter column `kind` set default 'c', alter index `by_data` invisible;
show index from `geo`;
show full columns from `geo`;
alter table `geo` drop constraint `ck`;
alter table `geo` convert to character set utf8mb4 collate utf8mb4_unicode_ci;
create table `node` (`id` int primary key, `parentId` int, constraint `fk_parent` foreign key (`parentId`) references `node` (`id`) on delete set null on update cascade);
insert into `node` values (1, null), (2, 1), (3, 2);
delete from `node` where `id` = 2;
select * from `node`;
select rc.constraint_name, rc.update_rule, rc.delete_rule, rc.referenced_table_name from information_schema.referential_constraints rc where rc.constraint_schema = database();
select json_arrayagg(`id`), json_objectagg(`id`, `parentId`) from `node`;
select group_concat(distinct `id` order by `id` desc separator '; ') from `node`;
insert into `node` set `id` = 5, `parentId` = null;
replace into `node` (`id`, `parentId`) values (5, 1);
truncate table `knex_migrations`;

-- Hibernate, Flyway, Liquibase, Connector/J.
create table `ordinal` (`id` bigint not null, `state` tinyint check (`state` between 0 and 2), `amount` numeric(19, 2), `flag` bit, `uid` binary(16), `at` datetime(6), primary key (`id`)) engine=InnoDB;
create temporary table `HTE_ordinal` (`id` bigint not null, `rn_` integer not null, primary key (`rn_`));
insert into `HTE_ordinal` (`id`, `rn_`) select `id`, row_number() over () from `ordinal`;
drop temporary table `HTE_ordinal`;
create table `hibernate_sequence` (`next_val` bigint);
insert into `hibernate_sequence` values (1);
select `next_val` as id_val from `hibernate_sequence` for update;
update `hibernate_sequence` set `next_val` = 51 where `next_val` = 1;
select word from information_schema.keywords where word in ('LATERAL', 'SELECT', 'QUALIFY', 'RANK') order by word;
select count(*) from information_schema.keywords where reserved = 1;
select get_lock('Flyway--1', 10);
select release_lock('Flyway--1');
select is_used_lock('Flyway--1') is null;
create table `DATABASECHANGELOG` (`ID` varchar(255) not null, `DATEEXECUTED` datetime not null, `ORDEREXECUTED` int not null, `MD5SUM` varchar(35) null);
insert into `DATABASECHANGELOG` values ('1', now(), 1, '9:abc');
select md5sum from `DATABASECHANGELOG` where md5sum is not null limit 1;
select * from mysql.tables_priv where db = 'answers_alike';
select count(*) >= 0 from mysql.procs_priv;
select db from mysql.db where db = 'nothing';
show variables like 'lower_case_table_names';
show collation like 'utf8mb4_0900_ai_ci';
show character set like 'utf8mb4';
show engines like 'x';
select engine, support from information_schema.engines where engine = 'InnoDB';
show procedure status like 'nothing';
show table status like 'nothing';
show warnings;
/* mysql-connector-j */ select @@session.auto_increment_increment as auto_increment_increment, @@character_set_client as c, @@max_allowed_packet > 0 as p;
set character_set_results = null;
set character_set_results = utf8mb4;
set sql_select_limit = default;
set session transaction read only;
set session transaction read write;

-- WordPress, phpMyAdmin, MediaWiki without search.
create table wp_posts (ID bigint(20) unsigned not null auto_increment, post_author bigint(20) unsigned not null default '0', post_date datetime not null default '1000-01-01 00:00:00', post_content longtext not null, post_title text not null, post_status varchar(20) not null default 'publish', post_name varchar(200) not null default '', primary key (ID), key post_name (post_name(191)), key by_date (post_status, post_date, ID)) default character set utf8mb4 collate utf8mb4_unicode_520_ci;
insert into wp_posts (post_date, post_content, post_title, post_name) values ('2024-01-02', 'a', 'A', 'a'), ('2024-03-02', 'b', 'B', 'b'), ('2023-03-02', 'c', 'C', 'c');
set sql_mode = 'NO_ENGINE_SUBSTITUTION';
select sql_calc_found_rows wp_posts.ID from wp_posts where 1=1 and wp_posts.post_status = 'publish' order by wp_posts.post_date desc limit 0, 2;
select found_rows();
select distinct year(post_date) as `year`, month(post_date) as `month` from wp_posts order by post_date desc;
insert into wp_posts (post_date, post_content, post_title) values ('0000-00-00 00:00:00', '', '');
select post_date from wp_posts where post_date = '0000-00-00 00:00:00';
set sql_mode = default;
describe wp_posts;
analyze table wp_posts;
show index from wp_posts where key_name = 'post_name';
select option_name from (select 'siteurl' option_name) o where option_name like '\\_site%' or option_name like 'site\\_%';
select `comment_id` from (select 1 as comment_id) c where binary 'a' = 'a' group by comment_id having count(*) > 0;
select *, (select count(*) from wp_posts p where p.post_author = w.post_author) n from wp_posts w order by field(ID, 3, 1) desc, ID limit 2;
select schema_name, default_collation_name from information_schema.schemata where binary `schema_name` = 'answers_alike';
select `table_name`, `engine`, `table_collation`, `table_comment` from information_schema.tables t where `table_schema` collate utf8mb3_bin = database() and `table_name` = 'wp_posts';
set profiling = 1;
show profiles;
set profiling = 0;
select count(*) > 0 from information_schema.user_privileges where privilege_type = 'SUPER';
-- known: MySQL has accounts of its own, which cannot log in
select `user`, `host`, `authentication_string` is not null, `plugin`, `password_expired` from mysql.user where user = 'mysql.sys';
-- known: as above
show grants for 'mysql.sys'@'localhost';
checksum table `node`;
check table `node`;
analyze table `node`;
optimize table `node`;
repair table `node`;
show create database `answers_alike`;
show triggers like 'nothing';
show events like 'nothing';
lock tables `node` write, `node` as n2 read;
select count(*) from `node` as n2;
unlock tables;
create table `page` (page_id int unsigned auto_increment not null, page_namespace int not null, page_title varbinary(255) not null, page_is_redirect tinyint unsigned default 0 not null, page_random double unsigned not null, page_touched binary(14) not null, page_latest int unsigned not null, page_len int unsigned not null, page_lang varbinary(35) default null, unique index page_name_title (page_namespace, page_title), index page_random (page_random), primary key (page_id)) engine=InnoDB default charset=binary;
insert ignore into `page` (page_namespace, page_title, page_random, page_touched, page_latest, page_len) values (0, 'Main_Page', 0.5, '20240102030405', 0, 0);
select page_id, page_title, page_touched from `page` force index (page_random) where page_random >= 0.25 order by page_random limit 1;
update `page` set page_latest = page_latest + 1, page_len = page_latest where page_id = 1;
select page_latest, page_len from `page`;

-- Redmine (Rails).
create table `projects` (`id` bigint not null auto_increment primary key, `name` varchar(255) default '' not null, `lft` int, `rgt` int, `created_on` timestamp null default null, index `index_projects_on_lft` (`lft`)) engine=InnoDB default charset=utf8mb4 collate=utf8mb4_unicode_ci;
insert into `projects` (`name`, `lft`, `rgt`) values ('a', 1, 6), ('b', 2, 3), ('c', 4, 5);
select p.name, (select count(*) from projects c where c.lft > p.lft and c.rgt < p.rgt) from projects p order by p.id;
select p.name, c.name from projects p left join projects c on c.id = (select min(x.id) from projects x where x.lft > p.lft and x.rgt < p.rgt) order by p.id;
update projects set lft = lft + 2, rgt = case when rgt > 3 then rgt + 2 else rgt end where lft > 1 or rgt > 3;
select id, lft, rgt from projects order by lft;
rename table `projects` to `p2`, `p2` to `projects`;
create table `p3` like `projects`;
insert into `p3` select * from `projects`;
create table `p4` (primary key (id)) select * from `projects`;
show create table `p4`;
alter table `p3` add `position` int default null first, add unique index `by_name` using btree (`name`(50), `lft`) comment 'c';
set foreign_key_checks = 0;
drop table if exists `p3`, `p4`, `none`;
set foreign_key_checks = 1;
select @@foreign_key_checks;

-- Zabbix, Icinga DB, Cacti, PowerDNS, InvoiceNinja, ZoneMinder: triggers, functions, absent kinds, defaults of texts.
create table `hosts` (`hostid` bigint unsigned not null, `name` varchar(128) not null default '', `name_upper` varchar(128) not null default '', primary key (`hostid`)) engine=InnoDB;
create table `changelog` (`changelogid` bigint unsigned not null auto_increment, `objectid` bigint unsigned not null, `operation` integer default '0' not null, primary key (`changelogid`));
create trigger hosts_insert after insert on `hosts` for each row insert into changelog (objectid, operation) values (new.hostid, 1);
create trigger hosts_name_upper_insert before insert on `hosts` for each row set new.name_upper = upper(new.name);
delimiter $$
create trigger hosts_name_upper_update before update on `hosts` for each row begin
  if new.name <> old.name then
    set new.name_upper = upper(new.name);
  end if;
end$$
create function `get_sla_ok_percent`(in_start bigint unsigned, in_end bigint unsigned) returns decimal(7, 4) reads sql data begin
  declare total bigint unsigned default 0;
  declare done int default 0;
  declare h bigint unsigned;
  declare cur cursor for select hostid from hosts order by hostid;
  declare continue handler for not found set done = 1;
  open cur;
  read_loop: loop
    fetch cur into h;
    if done then leave read_loop; end if;
    set total = total + h;
  end loop;
  close cur;
  return 100 * total / greatest(in_end - in_start, 1);
end$$
delimiter ;
insert into `hosts` (`hostid`, `name`) values (1, 'one'), (2, 'two');
update `hosts` set `name` = 'Three' where `hostid` = 2;
select * from `hosts`;
select objectid, operation from changelog;
select get_sla_ok_percent(0, 7);
drop function if exists nothing;
drop procedure if exists nothing;
drop trigger if exists nothing;
drop view if exists nothing;
drop event if exists nothing;
drop index nothing on `hosts`;
create table `settings` (`name` varchar(50) not null default '', `value` text not null default '', primary key (name));
create table `settings` (`name` varchar(50) not null default '', `value` text not null default (''), primary key (name));
insert into `settings` (`name`) values ('x');
select * from `settings`;
create table `events` (`Id` bigint unsigned not null auto_increment, `StartDateTime` datetime default null, `Length` decimal(10, 2) not null default '0.00', `Cause` enum('None','Motion') default 'None', primary key (`Id`), key `Events_StartDateTime_idx` (`StartDateTime`)) engine=InnoDB;
set @s = (select if((select count(*) from information_schema.columns where table_schema = database() and table_name = 'events' and column_name = 'Score') > 0, "select 'Column exists'", "alter table `events` add `Score` smallint unsigned default 0 after `Length`"));
prepare stmt from @s;
execute stmt;
deallocate prepare stmt;
show columns from `events` like 'S%';
alter table `hosts` add column `uuid` char(32) collate ascii_bin not null default '' comment 'id', algorithm=inplace, lock=none;
create table `records` (id bigint auto_increment, domain_id int default null, name varchar(255) default null, type varchar(10) default null, content varchar(64000) default null, ttl int default null, disabled tinyint(1) default 0, ordername varchar(255) binary default null, auth tinyint(1) default 1, primary key (id)) engine=InnoDB character set 'latin1';
create index nametype_index on `records`(name, type);
create index ordername on `records` (ordername);
show create table `records`;

-- sakila, employees, Temporal, DBT2: views, procedures, generated columns of documents, loads.
create table `film` (film_id smallint unsigned not null auto_increment, title varchar(128) not null, release_year year default null, rating enum('G','PG','R') default 'G', special_features set('Trailers','Commentaries') default null, replacement_cost decimal(5,2) not null default 19.99, last_update timestamp not null default current_timestamp on update current_timestamp, primary key (film_id), key idx_title (title)) engine=InnoDB default charset=utf8mb4;
insert into `film` (title, release_year, special_features) values ('ACADEMY', 2006, 'Trailers'), ('ACE', 2006, 'Trailers,Commentaries');
create view `film_list` as select f.film_id as FID, f.title as title, count(*) over () as n, group_concat(f.rating order by f.rating separator ', ') as ratings from film f group by f.film_id, f.title;
select * from `film_list`;
create definer=current_user sql security invoker view `nicer` as select concat(ucase(substr(title, 1, 1)), lcase(substr(title, 2))) as t from film;
select * from `nicer`;
select view_definition, security_type from information_schema.views where table_name = 'nicer' and table_schema = database();
select table_name, is_updatable, check_option, security_type from information_schema.views where table_schema = database() order by 1;
delimiter //
create procedure film_in_stock(in p_year int, out p_count int) reads sql data begin
  select title from film where release_year = p_year order by title;
  select count(*) from film where release_year = p_year into p_count;
end //
create procedure new_order(inout n int) begin
  declare i int default 0;
  declare exit handler for sqlexception begin rollback; set n = -1; end;
  start transaction;
  while i < 3 do
    insert into film (title) values (concat('NEW', i));
    set i = i + 1, n = n + 1;
  end while;
  commit;
end //
delimiter ;
call film_in_stock(2006, @found);
select @found;
set @n = 5;
call new_order(@n);
select @n, (select count(*) from film);
select routine_name, routine_type, sql_data_access, dtd_identifier from information_schema.routines where routine_schema = database() order by 1;
select specific_name, parameter_name, parameter_mode, dtd_identifier from information_schema.parameters where specific_schema = database() order by 1, ordinal_position;
create table `executions_visibility` (`namespace_id` char(64) not null, `search_attributes` json null, `KeywordField` varchar(255) generated always as (search_attributes->>"$.Keyword"), `IntField` bigint generated always as (search_attributes->"$.Int"), `DatetimeField` datetime(6) generated always as (convert_tz(regexp_replace(search_attributes->>"$.Datetime", 'Z|[+-][0-9]{2}:[0-9]{2}$', ''), substr(replace(search_attributes->>"$.Datetime", 'Z', '+00:00'), -6, 6), '+00:00')), `KeywordList` json generated always as (search_attributes->"$.List"), primary key (`namespace_id`), key `by_int` (`namespace_id`, `IntField`), key `by_list` ((cast(`KeywordList` as char(255) array))));
insert into `executions_visibility` (`namespace_id`, `search_attributes`) values ('n', '{"Keyword": "k", "Int": 5, "Datetime": "2024-01-02T03:04:05.5+02:00", "List": ["a", "b"]}');
select `KeywordField`, `IntField`, `DatetimeField`, `KeywordList` from `executions_visibility` where 'b' member of (`KeywordList`);
select `namespace_id` from `executions_visibility` where json_contains(`KeywordList`, '["a"]') and `IntField` = 5;
create table `employees` (emp_no int not null, birth_date date not null, first_name varchar(14) not null, gender enum('M','F') not null, hire_date date not null, primary key (emp_no));
insert into `employees` values (10001, '1953-09-02', 'Georgi', 'M', '1986-06-26'), (10002, '1964-06-02', 'Bezalel', 'F', '1985-11-21');
set @crc = '';
create table `tchecksum` (chk char(100)) engine=blackhole;
create table `tchecksum` (chk char(100));
-- known: MySQL 9.7 has md5() only with a component
insert into `tchecksum` select @crc := md5(concat_ws('#', @crc, emp_no, birth_date, first_name, gender, hire_date)) from employees order by emp_no;
-- known: as above
select @crc;
create table `dept_emp_latest` as select emp_no, max(hire_date) as from_date from employees group by emp_no;
show create table `dept_emp_latest`;
/*!40101 set @saved_cs_client = @@character_set_client */;
/*!50503 set character_set_client = utf8mb4 */;
/*!40000 alter table `employees` disable keys */;
/*!40000 alter table `employees` enable keys */;
/*!50001 create view `dump_view` as select 1 as `a`, 1 as `b` */;
/*!50001 create algorithm=undefined */ /*!50013 definer=current_user sql security definer */ /*!50001 view `dump_view2` as select 2 as `a` */;
select * from `dump_view2`;
select `id` from `node` procedure analyse();
handler `node` open;
handler `node` read first;
handler `node` close;
do sleep(0), 1;
select sleep(0) from dual where sleep(0) = 0;

;
-- only a comment
/* only a comment */;
#
select row_count(), found_rows();
