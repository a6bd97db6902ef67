//! What stands in the places of templates: literals and columns, by the kind of value that a place is for.

/// One row of every type; the columns are named after their types.
pub const SETUP: &[&str] = &[
    "set names utf8mb4",
    "set time_zone = '+00:00'",
    "set timestamp = 1700000000.123456",
    "set sql_mode = default",
    "drop database if exists function_grid",
    "create database function_grid charset utf8mb4",
    "use function_grid",
    "create table g (ti tinyint, ui int unsigned, bi bigint, ub bigint unsigned, de decimal(12,3), d0 decimal(20,0), \
     fl float, db double, ch char(5), vc varchar(20), la varchar(20) charset latin1, cs varchar(20) collate utf8mb4_bin, \
     tx text, vb varbinary(20), bl blob, da date, t0 time, tm time(2), dt datetime, dm datetime(3), ts timestamp(3) null, \
     yr year, en enum('b','a','12'), st set('x','y','z'), bt bit(9), js json, ni int, nv varchar(9), nd date)",
    "insert into g values (-5, 4000000000, -9000000000000000000, 18446744073709551615, 12345.678, 98765432109876543210, \
     1.25, -2.5e10, 'ab', '12abc', 'caf\u{e9}', 'aBc', 'hello world', x'00ff41', 'bytes', '2024-02-29', '10:11:12', \
     '-23:59:58.75', '1999-12-31 23:59:59', '2038-01-19 03:14:07.999', '2024-03-10 02:30:00.5', 2024, 'a', 'x,z', b'101000001', \
     '{\"a\": [1, 2.50, \"x\"], \"b\": null}', null, null, null)",
];

/// Values of every kind.
pub const ANY: &[&str] = &[
    "null", "0", "1", "-1", "3", "255", "9223372036854775807", "18446744073709551615", "-9223372036854775808", "1.5",
    "-0.55", "12345678901234567890.123456789", "2.5e0", "-1.5e10", "1e308", "''", "'a'", "'abc'", "' 12 '", "'12abc'",
    "'-1.5e2'", "'2024-02-29'", "'2024-02-29 12:34:56.789'", "'10:11:12'", "'0000-00-00'", "'h\u{e9}llo'", "x'414243'",
    "b'101'", "date'2024-02-29'", "time'-12:34:56.5'", "timestamp'2023-12-31 23:59:59.5'", "true",
    "cast('{\"a\": [1, 2]}' as json)", "'[1, \"b\"]'", "_latin1'abc'", "'ABC' collate utf8mb4_bin", "cast(7 as unsigned)",
    "ti", "ui", "bi", "ub", "de", "d0", "fl", "db", "ch", "vc", "la", "cs", "tx", "vb", "bl", "da", "t0", "tm", "dt", "dm",
    "ts", "yr", "en", "st", "bt", "js", "ni", "nv", "nd",
];

/// Numbers, and a few values that are none.
pub const NUMBERS: &[&str] = &[
    "null", "0", "1", "-1", "2", "10", "100", "9223372036854775807", "18446744073709551615", "-9223372036854775808", "0.5",
    "1.5", "-2.5", "123.456", "0.000000001", "99999999999999999999999999999999999999999999999999999999999999999",
    "12345678901234567890.123456789012345678901234567890", "2.5e0", "-1.5e10", "1e308", "1e-300", "'12abc'", "'1.5'", "''",
    "'x'", "x'10'", "true", "date'2024-02-29'", "ti", "ui", "bi", "ub", "de", "d0", "fl", "db", "vc", "yr", "en", "st", "bt",
    "js", "ni", "dm", "tm",
];

/// Small integers for positions and lengths.
pub const INTEGERS: &[&str] = &[
    "null", "0", "1", "-1", "2", "3", "-2", "4", "5", "7", "10", "16", "-10", "36", "100", "1.5", "'2'", "2.5e0",
    "9223372036854775807", "18446744073709551615", "-9223372036854775808", "ti", "ni", "true", "'x'", "2", "3", "1",
];

pub const STRINGS: &[&str] = &[
    "null", "''", "'a'", "'abc'", "'ABC'", "'a,b,c'", "'hello world'", "'h\u{e9}llo'", "'%'", "'b'", "'o'", "' a '", "'12'",
    "'aaa'", "x'414243'", "x'ff00'", "_latin1'abc'", "'abc' collate utf8mb4_bin", "'B' collate utf8mb4_general_ci", "12", "1.5",
    "date'2024-02-29'", "ch", "vc", "la", "cs", "tx", "vb", "bl", "en", "st", "js", "nv", "ti", "de", "'\u{1f600}x'",
];

pub const MOMENTS: &[&str] = &[
    "null", "'2024-02-29'", "'2024-02-29 12:34:56'", "'2024-02-29 12:34:56.789012'", "'1999-12-31T23:59:59'", "'0000-00-00'",
    "'2024-00-10'", "'2024-02-30'", "'10:11:12'", "'-838:59:59'", "'839:00:00'", "'1 02:03:04.5'", "'abc'", "''", "20240229",
    "20240229123456", "20240229123456.5", "101112", "0", "-1", "240229", "1.5", "date'2024-02-29'", "date'9999-12-31'",
    "date'0001-01-01'", "time'10:11:12'", "time'-23:59:58.75'", "time'838:59:59'", "timestamp'2024-01-31 23:59:59.999999'",
    "timestamp'1970-01-01 00:00:00'", "timestamp'2024-01-01 14:00:00+05:00'", "da", "t0", "tm", "dt", "dm", "ts", "yr", "vc",
    "js", "bi", "de", "nd", "'2024-02-29 12:34:56+02:00'", "'24-2-9 1:2:3'", "'2024.02.29'", "true",
];

pub const DOCUMENTS: &[&str] = &[
    "null", "js", "'{}'", "'[]'", "'null'", "'1'", "'1.5'", "'\"str\"'", "'true'", "'[1, 2, 3]'", "'[1, [2, {\"a\": 3}]]'",
    "'{\"a\": 1, \"b\": {\"c\": [1, \"x\"]}}'", "'{\"a\": {\"a\": {\"a\": 1}}}'", "'not json'", "''", "'{\"a\": 1'",
    "json_array(1, 1.50, 'x', null, true)", "json_object('d', date'2024-02-29', 'u', cast(3 as unsigned))",
    "cast(12 as json)", "cast('\"s\"' as json)", "json_array(x'4142', time'-10:00:00')", "1", "1.5", "vc", "vb", "da", "nv",
    "'[\"a\", \"b\", \"a\"]'", "'[1.0, 1, true]'", "_latin1'[1]'",
];

pub const PATHS: &[&str] = &[
    "null", "'$'", "'$.a'", "'$.b.c'", "'$[0]'", "'$[1]'", "'$[last]'", "'$[last-1]'", "'$[0 to 1]'", "'$.*'", "'$[*]'", "'$**.a'",
    "'$.a[1]'", "'$.\"a\"'", "'$.x'", "'a'", "''", "'$.'", "'$[5]'", "'$.a.b'", "'$[0].a'", "1",
];

pub const FORMATS: &[&str] = &[
    "null", "'%Y-%m-%d'", "'%Y-%m-%d %H:%i:%s'", "'%W %M %e %Y'", "'%a %b %D'", "'%H:%i:%s.%f'", "'%r %T %p'", "'%j %U %u %V %v'",
    "'%X %x %y %c'", "'%h %I %l %k'", "'%%x%Z'", "''", "'%d.%m.%Y'", "'%d %H'", "'%Y%m%d'", "'%'", "12", "vc",
];

/// The list for a place: the letter of a template's `{..}`.
pub fn list(letter: char) -> &'static [&'static str] {
    match letter {
        'n' => NUMBERS,
        'i' => INTEGERS,
        's' => STRINGS,
        't' => MOMENTS,
        'j' => DOCUMENTS,
        'p' => PATHS,
        'f' => FORMATS,
        _ => ANY,
    }
}
