create table shapes (id int auto_increment primary key, side int not null, name varchar(20) character set utf8mb4, code char(4) collate utf8mb4_bin, plain varchar(20), area bigint default (side * side), secret int default 7 invisible, made datetime default (current_timestamp - interval 1 day), constraint positive check (side > 0), constraint loose check (side < 10) not enforced, key by_area (area), unique key by_label ((concat(name, '-', side))), key hidden (plain) invisible, key lower_name ((lower(name))), key descending (side desc, id));
insert into shapes (side, name, code, plain, secret, made) values (1, 'one', 'aB', 'x', 1, '2020-01-01'), (2, 'two', 'Ab', 'y', 2, '2021-01-01'), (30, 'thirty', null, null, 3, '2022-02-02 10:11:12');
create table `lines` (shape int, number int, primary key (shape, number), constraint of_shape foreign key (shape) references shapes (id) on delete cascade);
insert into `lines` values (1, 1), (1, 2), (3, 1);
create view big as select id, side, area from shapes where area > 3 with check option;
create view bigger as select * from big where id > 2 with local check option;
create view counted as select s.name, count(l.number) lines_of from shapes s left join `lines` l on l.shape = s.id group by s.id, s.name;
create table copied as select name, concat(name, plain) both_of, side from shapes;
