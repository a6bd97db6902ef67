-- Employees and salaries: few tables, many rows.
create table employees(emp_no int not null,birth_date date not null,first_name varchar(14) not null,last_name varchar(16) not null,gender enum('M','F') not null,hire_date date not null,primary key(emp_no));
create table salaries(emp_no int not null,salary int not null,from_date date not null,to_date date not null,foreign key(emp_no) references employees(emp_no) on delete cascade,primary key(emp_no,from_date));
set cte_max_recursion_depth=10000;
insert into employees with recursive r(n) as (select 10001 union all select n+1 from r where n<19999) select n,date'1952-02-01'+interval n%5000 day,concat('f',n%1000),concat('l',n%1600),if(n%5<3,'M','F'),date'1985-01-01'+interval n%4000 day from r;
insert into salaries select emp_no,38000+(emp_no*7+k*131)%60000,hire_date+interval k year,if(k=5,'9999-01-01',hire_date+interval k+1 year) from employees join (select 0 k union select 1 union select 2 union select 3 union select 4 union select 5) y;
