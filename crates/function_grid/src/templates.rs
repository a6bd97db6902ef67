//! The functions and operators, each with the kind of value that its places are for (see `arguments::list`).
//!
//! What is random, waits, or tells of the session and the clock is not here, but for functions of the clock with a
//! moment, which the fixed timestamp makes constant.

/// Each is tried with at most so many cells, by the number of its places.
pub const CELLS_MAX: [usize; 5] = [1, 80, 115, 75, 60];

/// Functions of a day's number: MySQL 9.7.4 itself ends (signal 11) when their moment is the number 0, so nobody can
/// say what that gives.
pub const FATAL_WITH_ZERO: &[&str] = &[
    "weekday(", "dayofyear(", "dayname(", "to_days(", "to_seconds(", "datediff(", "week(", "weekofyear(", "yearweek(",
    "dayofweek(", "last_day(", "timestampdiff(", "extract(week ", "date_format(",
];

pub const TEMPLATES: &[&str] = &[
    // Operators.
    "{a} + {a}", "{a} - {a}", "{a} * {a}", "{a} / {a}", "{a} % {a}", "{a} div {a}", "-{a}", "+{a}", "not {a}", "{a} and {a}",
    "{a} or {a}", "{a} xor {a}", "{a} = {a}", "{a} <=> {a}", "{a} < {a}", "{a} >= {a}", "{a} <> {a}", "{a} is null",
    "{a} is true", "{a} is not false", "{a} is unknown", "{a} in ({a}, {a})", "{a} not in ({a}, {a}, {a})",
    "{a} between {a} and {a}", "{a} not between {a} and {a}", "{a} | {a}", "{a} & {a}", "{a} ^ {a}", "{a} << {i}", "{a} >> {i}",
    "~{a}", "{n} + {n}", "{n} - {n}", "{n} * {n}", "{n} / {n}", "{n} % {n}", "{n} div {n}", "{s} like {s}", "{s} not like {s}",
    "{s} like {s} escape '|'", "{s} regexp {s}", "{s} = {s}", "{s} < {s}", "{t} = {t}", "{t} < {t}", "{t} in ({t}, {t})",
    "{t} between {t} and {t}", "{j} = {j}", "{j} < {j}", "case {a} when {a} then {a} else {a} end",
    "case when {a} then {a} else {a} end", "binary {a}", "cast({a} as binary(3))",
    // Conversions.
    "cast({a} as signed)", "cast({a} as unsigned)", "cast({a} as decimal(10,2))", "cast({a} as decimal(65,30))",
    "cast({a} as double)", "cast({a} as float)", "cast({a} as char)", "cast({a} as char(3))", "cast({a} as date)",
    "cast({a} as time(2))", "cast({a} as datetime(3))", "cast({a} as year)", "cast({a} as json)", "cast({t} as date)",
    "cast({t} as time)", "cast({t} as datetime)", "cast({t} as datetime(6))", "cast({t} as signed)", "cast({n} as decimal(10,2))",
    "cast({n} as signed)", "cast({n} as char)", "convert({s} using latin1)", "convert({s} using binary)",
    "convert({a} using utf8mb4)", "cast({j} as json)", "cast({j} as signed)", "cast({j} as char)", "cast({j} as double)",
    // Choice.
    "if({a}, {a}, {a})", "ifnull({a}, {a})", "nullif({a}, {a})", "coalesce({a}, {a})", "coalesce({a}, {a}, {a})", "isnull({a})",
    "greatest({a}, {a})", "least({a}, {a})", "greatest({n}, {n}, {n})", "least({n}, {n}, {n})", "greatest({t}, {t})",
    "least({t}, {t}, {a})", "greatest({s}, {s})", "interval({n}, {n}, {n}, {n})", "field({a}, {a}, {a}, {a})", "field({s}, {s}, {s})",
    "elt({i}, {a}, {a})", "make_set({i}, {s}, {s})", "export_set({i}, {s}, {s}, {s})", "any_value({a})",
    // Numbers.
    "abs({a})", "sign({a})", "ceiling({a})", "floor({a})", "round({a})", "round({n}, {i})", "truncate({n}, {i})", "mod({n}, {n})",
    "sqrt({n})", "exp({n})", "ln({n})", "log({n})", "log({n}, {n})", "log2({n})", "log10({n})", "pow({n}, {n})", "sin({n})",
    "cos({n})", "tan({n})", "cot({n})", "asin({n})", "acos({n})", "atan({n})", "atan2({n}, {n})", "degrees({n})", "radians({n})",
    "pi()", "rand({i}) < 1", "crc32({a})", "conv({a}, {i}, {i})", "bin({a})", "oct({a})", "hex({a})", "bit_count({a})",
    "format({n}, {i})", "format({n}, {i}, 'de_DE')", "format_bytes({n})", "format_pico_time({n})", "ceiling({n})", "floor({n})",
    "round({n})",
    // Strings.
    "ascii({a})", "ord({s})", "char({i}, {i})", "char({n} using utf8mb4)", "char_length({a})", "length({a})", "bit_length({s})",
    "concat({a}, {a})", "concat({s}, {s}, {s})", "concat_ws({s}, {a}, {a})", "find_in_set({s}, {s})", "insert({s}, {i}, {i}, {s})",
    "instr({s}, {s})", "locate({s}, {s})", "locate({s}, {s}, {i})", "lower({a})", "upper({s})", "left({s}, {i})", "right({s}, {i})",
    "lpad({s}, {i}, {s})", "rpad({s}, {i}, {s})", "ltrim({s})", "rtrim({s})", "trim({s})", "trim(leading {s} from {s})",
    "trim(both {s} from {s})", "trim(trailing {s} from {s})", "repeat({s}, {i})", "replace({s}, {s}, {s})", "reverse({a})",
    "soundex({s})", "space({i})", "strcmp({a}, {a})", "strcmp({s}, {s})", "substring({s}, {i})", "substring({s}, {i}, {i})",
    "substring_index({s}, {s}, {i})", "quote({a})", "unhex({a})", "to_base64({a})", "from_base64({a})", "hex({s})",
    "weight_string({s})", "hex(weight_string({s}))", "charset({a})", "collation({a})", "coercibility({a})", "regexp_like({s}, {s})",
    "regexp_instr({s}, {s})", "regexp_substr({s}, {s})", "regexp_replace({s}, {s}, {s})", "sha2({a}, 256)", "sha2({s}, {i})",
    "uncompress(compress({a}))", "uncompressed_length({s})", "hex(aes_encrypt({s}, {s}))", "aes_decrypt(aes_encrypt({s}, 'k'), 'k')",
    "inet_aton({s})", "inet_ntoa({n})", "hex(inet6_aton({s}))", "inet6_ntoa({a})", "is_ipv4({a})", "is_ipv6({a})", "is_uuid({a})",
    "uuid_to_bin({s})", "bin_to_uuid({a})", "inet_aton('10.0.0.1')", "inet6_ntoa(inet6_aton('::ffff:1.2.3.4'))", "name_const('n', {n})",
    // Moments.
    "date({t})", "time({t})", "timestamp({t})", "timestamp({t}, {t})", "year({t})", "quarter({t})", "month({t})", "week({t})",
    "week({t}, {i})", "weekofyear({t})", "yearweek({t})", "yearweek({t}, {i})", "day({t})", "dayofmonth({t})", "dayofweek({t})",
    "weekday({t})", "dayofyear({t})", "dayname({t})", "monthname({t})", "hour({t})", "minute({t})", "second({t})",
    "microsecond({t})", "last_day({t})", "to_days({t})", "to_seconds({t})", "from_days({n})", "unix_timestamp({t})",
    "from_unixtime({n})", "from_unixtime({n}, {f})", "sec_to_time({n})", "time_to_sec({t})", "makedate({n}, {i})",
    "maketime({i}, {i}, {n})", "period_add({n}, {i})", "period_diff({n}, {n})", "datediff({t}, {t})", "timediff({t}, {t})",
    "addtime({t}, {t})", "subtime({t}, {t})", "date_format({t}, {f})", "time_format({t}, {f})", "str_to_date({t}, {f})",
    "str_to_date({s}, {f})", "convert_tz({t}, '+00:00', '+05:30')", "convert_tz({t}, {s}, '+01:00')", "get_format(date, {s})",
    "get_format(datetime, 'iso')", "adddate({t}, {n})", "subdate({t}, {n})", "{t} + interval {n} day", "{t} - interval {n} month",
    "{t} + interval {n} year", "{t} + interval {n} second", "{t} - interval {n} microsecond", "{t} + interval {n} hour",
    "{t} + interval {n} week", "{t} + interval {n} quarter", "{t} + interval {t} day_second", "{t} - interval {t} hour_minute",
    "{t} + interval {s} day_microsecond", "{t} + interval '1-2' year_month", "{t} + interval {n} minute",
    "extract(year from {t})", "extract(month from {t})", "extract(day from {t})", "extract(hour from {t})",
    "extract(minute from {t})", "extract(second from {t})", "extract(microsecond from {t})", "extract(week from {t})",
    "extract(quarter from {t})", "extract(year_month from {t})", "extract(day_hour from {t})", "extract(day_minute from {t})",
    "extract(day_second from {t})", "extract(day_microsecond from {t})", "extract(hour_minute from {t})",
    "extract(hour_second from {t})", "extract(hour_microsecond from {t})", "extract(minute_second from {t})",
    "extract(minute_microsecond from {t})", "extract(second_microsecond from {t})", "timestampadd(month, {n}, {t})",
    "timestampadd(second, {n}, {t})", "timestampdiff(second, {t}, {t})", "timestampdiff(month, {t}, {t})",
    "timestampdiff(day, {t}, {t})", "timestampdiff(year, {t}, {t})", "now()", "now(3)", "curdate()", "curtime(6)", "utc_timestamp(2)",
    "curdate() + 0", "now(6) + 0", "curtime() + 0",
    // JSON.
    "json_array({a}, {a})", "json_object({s}, {a})", "json_quote({a})", "json_unquote({a})", "json_unquote({j})", "json_valid({a})",
    "json_valid({j})", "json_type({j})", "json_type(json_extract({j}, {p}))", "json_extract({j}, {p})", "json_extract({j}, {p}, {p})",
    "json_unquote(json_extract({j}, {p}))", "json_contains({j}, {j})", "json_contains({j}, {j}, {p})",
    "json_contains_path({j}, 'one', {p}, {p})", "json_contains_path({j}, 'all', {p}, {p})", "json_overlaps({j}, {j})",
    "{a} member of ({j})", "json_keys({j})", "json_keys({j}, {p})", "json_length({j})", "json_length({j}, {p})", "json_depth({j})",
    "json_pretty({j})", "json_set({j}, {p}, {a})", "json_insert({j}, {p}, {a})", "json_replace({j}, {p}, {a})",
    "json_remove({j}, {p})", "json_array_append({j}, {p}, {a})", "json_array_insert({j}, {p}, {a})", "json_merge_patch({j}, {j})",
    "json_merge_preserve({j}, {j})", "json_search({j}, 'one', {s})", "json_search({j}, 'all', {s}, null, {p})",
    "json_storage_size({j})", "json_storage_free({j})", "json_schema_valid('{\"type\": \"object\"}', {j})",
    "json_schema_validation_report('{\"type\": \"number\"}', {j})", "json_value({j}, '$.a')", "json_value({j}, '$[0]' returning signed)",
    "json_value({j}, '$' returning decimal(5,2))", "json_value({j}, '$.b.c' returning char(3))", "{j} + 0", "concat({j})",
    // Aggregates over the one row.
    "count({a})", "sum({a})", "avg({a})", "min({a})", "max({a})", "group_concat({a})", "group_concat({a}, {a})", "bit_and({a})",
    "bit_or({a})", "bit_xor({a})", "std({a})", "variance({a})", "var_samp({a})", "stddev_samp({a})", "json_arrayagg({a})",
    "json_objectagg({s}, {a})", "count(distinct {a})", "sum(distinct {a})", "avg({n})", "sum({n})",
];
