//! Variables of flags that are set one by one (`optimizer_switch`, `optimizer_trace`), and which variables SET_VAR may set.
use super::definition::Definition;
use datum::{SqlError, Value, error_code};

pub fn is_flag_set(name: &str) -> bool {
    matches!(name, "optimizer_switch" | "optimizer_trace" | "optimizer_trace_features")
}

/// The value that a number gives: a bit for each flag, the first one lowest; the one above them is `default`, which says nothing more.
pub fn with_bits(definition: &Definition, number: &Value) -> Result<String, SqlError> {
    let default_setting = definition.default_setting();
    let names = default_setting.as_text().split(',').filter_map(|flag| flag.split('=').next());
    let names: Vec<&str> = names.collect();
    let (bits, shown) = match number {
        Value::Int(number) => (u64::try_from(*number).ok(), number.to_string()),
        Value::UInt(number) => (Some(*number), number.to_string()),
        _ => (None, String::new()),
    };
    let bits = bits.filter(|bits| bits >> names.len() <= 1);
    let bits = bits.ok_or_else(|| error_code::ER_WRONG_VALUE_FOR_VAR.with(&[&definition.name, &shown]))?;
    let flag = |(place, name): (usize, &str)| {
        format!("{name}={}", if bits >> place & 1 == 1 { "on" } else { "off" })
    };
    let flags: Vec<String> = names.into_iter().enumerate().map(flag).collect();
    with_switches(definition, default_setting.as_text(), &flags.join(","))
}

/// The value of such a variable when some of its flags are set: `flag=on`, `flag=off`, `flag=default`, and `default`
/// for all others. `present` and the result name every flag.
pub fn with_switches(definition: &Definition, present: &str, text: &str) -> Result<String, SqlError> {
    let wrong = || error_code::ER_WRONG_VALUE_FOR_VAR.with(&[&definition.name, &text]);
    let default_setting = definition.default_setting();
    let pairs = |text: &'_ str| -> Vec<(String, String)> {
        let flags = text.split(',').filter_map(|flag| flag.split_once('='));
        flags.map(|(name, value)| (name.to_owned(), value.to_owned())).collect()
    };
    let defaults = pairs(default_setting.as_text());
    let mut flags = pairs(present);
    let words: Vec<&str> = text.split(',').map(str::trim).filter(|word| !word.is_empty()).collect();
    if words.iter().any(|word| word.eq_ignore_ascii_case("default")) {
        flags.clone_from(&defaults);
    }
    let mut seen: Vec<String> = Vec::new();
    for word in words {
        if word.eq_ignore_ascii_case("default") {
            if seen.iter().any(|known| known == "default") {
                return Err(wrong());
            }
            seen.push("default".to_owned());
            continue;
        }
        let (name, value) = word.split_once('=').ok_or_else(wrong)?;
        let (name, value) = (name.trim().to_ascii_lowercase(), value.trim().to_ascii_lowercase());
        let place = flags.iter().position(|(known, _)| *known == name).ok_or_else(wrong)?;
        if seen.contains(&name) {
            return Err(wrong());
        }
        flags[place].1 = match value.as_str() {
            "on" | "off" => value,
            "default" => defaults[place].1.clone(),
            _ => return Err(wrong()),
        };
        // As MySQL without its experimental optimizer.
        if flags[place] == ("hypergraph_optimizer".to_owned(), "on".to_owned()) {
            return Err(
                error_code::ER_NOT_SUPPORTED_YET.with(&[&"optimizer_switch = 'hypergraph_optimizer=on'"])
            );
        }
        seen.push(name);
    }
    let all: Vec<String> = flags.into_iter().map(|(name, value)| format!("{name}={value}")).collect();
    Ok(all.join(","))
}

/// Whether the hint SET_VAR may set the variable.
pub fn is_hintable(name: &str) -> bool {
    HINTABLE.contains(&name)
}

const HINTABLE: &[&str] = &[
    "auto_increment_increment",
    "auto_increment_offset",
    "big_tables",
    "bulk_insert_buffer_size",
    "cte_max_recursion_depth",
    "default_table_encryption",
    "default_tmp_storage_engine",
    "div_precision_increment",
    "end_markers_in_json",
    "eq_range_index_dive_limit",
    "foreign_key_checks",
    "group_concat_max_len",
    "insert_id",
    "internal_tmp_mem_storage_engine",
    "join_buffer_size",
    "lock_wait_timeout",
    "max_error_count",
    "max_execution_time",
    "max_heap_table_size",
    "max_join_size",
    "max_length_for_sort_data",
    "max_points_in_geometry",
    "max_seeks_for_key",
    "max_sort_length",
    "optimizer_max_subgraph_pairs",
    "optimizer_prune_level",
    "optimizer_search_depth",
    "optimizer_switch",
    "range_alloc_block_size",
    "range_optimizer_max_mem_size",
    "read_buffer_size",
    "read_rnd_buffer_size",
    "set_operations_buffer_size",
    "sort_buffer_size",
    "sql_auto_is_null",
    "sql_big_selects",
    "sql_buffer_result",
    "sql_mode",
    "sql_require_primary_key",
    "sql_safe_updates",
    "sql_select_limit",
    "time_zone",
    "timestamp",
    "tmp_table_size",
    "unique_checks",
    "updatable_views_with_limit",
    "windowing_use_high_precision",
    "xa_detach_on_prepare",
];

#[cfg(test)]
mod tests {
    use super::*;
    use crate::registry::VariableId;

    #[test]
    fn a_number_sets_all_flags() {
        let definition = VariableId::known("optimizer_trace").definition();
        assert_eq!(with_bits(definition, &Value::Int(1)).expect("a bit"), "enabled=on,one_line=off");
        assert_eq!(with_bits(definition, &Value::UInt(2)).expect("a bit"), "enabled=off,one_line=on");
        for wrong in [Value::Int(8), Value::Int(-1)] {
            assert_eq!(with_bits(definition, &wrong).expect_err("no flags").errno, 1231);
        }
    }

    #[test]
    fn flags_are_set_one_by_one() {
        let definition = VariableId::known("optimizer_switch").definition();
        let default = definition.default_setting();
        let set = |present: &str, text: &str| with_switches(definition, present, text);
        let off = set(default.as_text(), "MRR=off, skip_scan = OFF").expect("two flags");
        assert!(off.contains(",mrr=off,") && off.contains("skip_scan=off"));
        assert_eq!(set(&off, "mrr=default,skip_scan=on").expect("flags"), default.as_text());
        let reset = set(&off, "default,mrr=off").expect("the others as they were");
        assert!(reset.contains(",mrr=off,") && reset.contains("skip_scan=on"));
        assert_eq!(set(&off, "").expect("nothing"), off);
        for wrong in ["mrr", "mrr=maybe", "nope=on", "mrr=on,mrr=off", "default,default"] {
            assert_eq!(set(default.as_text(), wrong).expect_err(wrong).errno, 1231, "{wrong}");
        }
    }
}
