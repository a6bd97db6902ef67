//! Which functions never give NULL, and which do so only for arguments that may be NULL. Called when a call's type is found.
//!
//! Metadata and CREATE TABLE .. SELECT show it. What a function says here it keeps: a result beyond `max_allowed_packet`
//! is empty then, as in MySQL, instead of NULL.
use datum::{Value, no_warning};
use expression::call::width::text_width;
use expression::{BindContext, Expr};

const PACKET_BYTES: i128 = 64 << 20;
const CHARACTER_BYTES_MAX: i128 = 4;

/// Functions that give NULL where an argument is NULL, and else a value.
const NULL_OF_NULL: &[&str] = &[
    "abs",
    "aes_encrypt",
    "ascii",
    "bit_count",
    "bit_length",
    "ceil",
    "ceiling",
    "char",
    "char_length",
    "character_length",
    "compress",
    "concat",
    "concat_ws",
    "crc32",
    "degrees",
    "export_set",
    "find_in_set",
    "floor",
    "format",
    "format_bytes",
    "hex",
    "gtid_subset",
    "insert",
    "instr",
    "is_ipv4",
    "is_ipv4_compat",
    "is_ipv4_mapped",
    "is_ipv6",
    "last_insert_id",
    "json_overlaps",
    "json_pretty",
    "json_schema_valid",
    "json_storage_free",
    "lcase",
    "left",
    "length",
    "locate",
    "lower",
    "ltrim",
    "make_set",
    "member of",
    "mid",
    "octet_length",
    "ord",
    "period_add",
    "period_diff",
    "position",
    "quote",
    "radians",
    "rand",
    "random_bytes",
    "regexp_instr",
    "regexp_like",
    "replace",
    "reverse",
    "right",
    "round",
    "rtrim",
    "sign",
    "soundex",
    "statement_digest",
    "statement_digest_text",
    "strcmp",
    "substr",
    "substring",
    "substring_index",
    "to_base64",
    "trim",
    "trim_leading",
    "trim_trailing",
    "truncate",
    "ucase",
    "uncompressed_length",
    "unix_timestamp",
    "upper",
];

/// Whether the call may give NULL; `None` where the function itself says it with the type.
pub fn nullable(bind: &BindContext, function: &str, arguments: &[Expr]) -> Option<bool> {
    match function {
        "current_role" | "current_user" | "icu_version" | "uuid_short" => Some(false),
        "name_const" => Some(true),
        "charset" | "coercibility" | "collation" | "connection_id" | "found_rows" | "interval"
        | "row_count" | "user" | "session_user" | "system_user" | "uuid" | "version" => Some(false),
        "last_insert_id" | "unix_timestamp" if arguments.is_empty() => Some(false),
        "lpad" | "rpad" => Some(any(arguments) || is_long(bind, &arguments[1], 1)),
        "repeat" => Some(any(arguments) || is_long(bind, &arguments[1], text_width(&arguments[0]))),
        "space" => {
            Some(any(arguments) || is_long(bind, &arguments[0], 1) && !is_negative(bind, &arguments[0]))
        }
        name if NULL_OF_NULL.contains(&name) => Some(any(arguments)),
        _ => None,
    }
}

/// Whether so many pieces may exceed `max_allowed_packet` as it is by default, because their number is not known or large.
fn is_long(bind: &BindContext, count: &Expr, characters: u64) -> bool {
    let count = bind.peek(count).and_then(|value| value.to_integer(&count.ty.column, &mut no_warning));
    let bytes = |count: i128| count.saturating_mul(i128::from(characters)) * CHARACTER_BYTES_MAX;
    count.is_none_or(|count| count < 0 || bytes(count) > PACKET_BYTES)
}

fn is_negative(bind: &BindContext, count: &Expr) -> bool {
    matches!(bind.peek(count), Some(Value::Int(count)) if count < 0)
}

fn any(arguments: &[Expr]) -> bool {
    arguments.iter().any(|argument| argument.ty.column.nullable)
}
