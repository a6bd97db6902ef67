//! Hints as MySQL's warnings show them.
use super::Hint;
use parser::hints::{HintTable, HintValue};

/// The word before the parenthesis.
pub fn word(hint: &Hint) -> String {
    let no = |on: bool| if on { "" } else { "NO_" };
    match hint {
        Hint::QueryBlockName(_) => "QB_NAME".to_owned(),
        Hint::MaxExecutionTime(_) => "MAX_EXECUTION_TIME".to_owned(),
        Hint::SetVariable { .. } => "SET_VAR".to_owned(),
        Hint::ResourceGroup(_) => "RESOURCE_GROUP".to_owned(),
        Hint::Table { switch, on, .. } => format!("{}{}", no(*on), switch.name()),
        Hint::Key { switch, on, .. } => format!("{}{}", no(*on), switch.name()),
        Hint::Index { scope, on, .. } => format!("{}{}", no(*on), scope.name()),
        Hint::JoinOrder { kind, .. } => kind.name().to_owned(),
        Hint::Semijoin { on, .. } => format!("{}SEMIJOIN", no(*on)),
        Hint::Subquery { .. } => "SUBQUERY".to_owned(),
    }
}

/// The whole hint; `block` is the name its block was given.
pub fn shown(hint: &Hint, block: Option<&str>) -> String {
    let word = word(hint);
    let at = block.map(|name| format!("@`{name}`")).unwrap_or_default();
    let quoted = |keys: &[String]| keys.iter().map(|key| format!("`{key}`")).collect::<Vec<_>>().join(", ");
    let arguments = match hint {
        Hint::QueryBlockName(name) => format!("`{name}`"),
        Hint::MaxExecutionTime(milliseconds) => milliseconds.to_string(),
        Hint::SetVariable { name, value } => {
            return match value {
                HintValue::Number(number) => format!("{word}({name}={number}) "),
                HintValue::Text(text) => format!("{word}({name}='{text}') "),
                HintValue::Word(text) => format!("{word}({name}={text}) "),
            };
        }
        Hint::ResourceGroup(name) => name.clone(),
        Hint::Table { tables, .. } => {
            let names: Vec<String> = tables.iter().map(|table| format!("`{}`{at}", table.name)).collect();
            if names.is_empty() { format!("{at} ") } else { format!("{} ", names.join(", ")) }
        }
        Hint::Key { switch, table, keys, .. } if !switch.is_for_table() => {
            let keys: String = keys.iter().map(|key| format!(" `{key}`")).collect();
            format!("`{}`{at}{keys} ", table.name)
        }
        Hint::Key { table, keys, .. } | Hint::Index { table, keys, .. } => {
            let keys = if keys.is_empty() { String::new() } else { format!(" {}", quoted(keys)) };
            format!("`{}`{at} {keys}", table.name)
        }
        Hint::JoinOrder { tables, .. } => {
            let name = |table: &HintTable| {
                let block = table.block.as_ref().map(|block| format!("@`{block}`")).unwrap_or_default();
                format!("`{}`{block}", table.name)
            };
            format!("{at} {}", tables.iter().map(name).collect::<Vec<_>>().join(","))
        }
        Hint::Semijoin { strategies, .. } => {
            let names: Vec<&str> = strategies.iter().map(|strategy| strategy.name()).collect();
            if names.is_empty() { format!("{at} ") } else { format!("{at}  {}", names.join(", ")) }
        }
        Hint::Subquery { strategy, .. } => format!("{at}  {}", strategy.name()),
    };
    format!("{word}({arguments})")
}
