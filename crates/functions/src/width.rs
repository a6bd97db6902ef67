//! How many characters the whole numbers of functions take. Called when a call's type is found.

/// The width of a function's whole number with its sign, if it is less than any BIGINT's.
pub fn width_of(function: &str) -> Option<u32> {
    Some(match function {
        "length"
        | "octet_length"
        | "bit_length"
        | "char_length"
        | "character_length"
        | "locate"
        | "position"
        | "instr"
        | "field"
        | "find_in_set"
        | "uncompressed_length" => 11,
        "coercibility" | "crc32" | "time_to_sec" | "validate_password_strength" => 10,
        "datediff" => 9,
        "to_days" => 8,
        "yearweek" => 7,
        "ascii" | "dayofyear" | "hour" => 4,
        "day" | "dayofmonth" | "month" | "week" | "weekofyear" | "minute" | "second" => 3,
        "dayofweek" | "weekday" | "quarter" | "strcmp" | "interval" => 2,
        "benchmark" | "get_lock" | "is_free_lock" | "release_lock" | "json_overlaps" | "member of"
        | "regexp_like" | "is_uuid" | "is_ipv4" | "is_ipv6" | "is_ipv4_compat" | "is_ipv4_mapped" => 1,
        _ => return None,
    })
}
