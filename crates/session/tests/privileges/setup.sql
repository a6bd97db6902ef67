# Made anew after a statement that may have changed it.
[databases]
drop database if exists d1
drop database if exists d2
drop database if exists d3
create database d1
create database d2
create table d1.t (a int primary key, b int)
create table d1.t2 (a int primary key, b int)
create table d2.t (a int primary key, b int)
insert into d1.t values (1, 1)
insert into d1.t2 values (1, 1)
[accounts]
drop user if exists mu, mn, ms, mo, mx, mr, mq
create user mu, mn, ms, mo
create role mr, mq
grant system_user on *.* to ms
grant select on d2.t to mr
[variables]
set global max_connections = 151
set global sql_mode = default
set global transaction isolation level repeatable read
[session]
