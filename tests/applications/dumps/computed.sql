create table made (id int primary key, a int, name varchar(20), doc json, v int as (a + 1), s varchar(30) as (concat(name, '-', a)) stored, w int generated always as (v * 2) virtual not null invisible, tag varchar(10) as (doc->>'$.tag') virtual, key by_v (v), unique key by_s (s), key by_tag (tag, id), key by_sum ((a + id) desc), constraint made_is_positive check (v > 0));
insert into made (id, a, name, doc) values (1, 1, 'one', '{"tag": "x", "tags": ["a", "b"]}'), (2, 20, 'two', null), (3, 3, 'thrée', '{"tag": null}');
create table tagged (id int primary key, doc json, key by_tags ((cast(doc->'$.tags' as char(20) array)), id));
insert into tagged values (1, '{"tags": ["a", "b"], "codes": [1, 2]}'), (2, '{"tags": [], "codes": [3]}'), (3, null);
create view both_of as select m.id, m.s, t.doc->'$.tags' tags, m.v + m.w made from made m left join tagged t on t.id = m.id where 'b' member of (t.doc->'$.tags') or m.v > 2;
create table child (id int primary key, parent int, k int as (parent) stored, foreign key (parent) references made (id));
insert into child (id, parent) values (1, 1), (2, 3);
