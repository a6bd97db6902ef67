//! JSON as EXPLAIN prints it: members ordered as MySQL's documents order them, two blanks for each level.
//!
//! Invariant: the text is a valid document whatever names and expressions hold.
use datum::write_json_string;
use std::fmt::Write;

#[derive(Debug, Clone, PartialEq)]
pub enum Json {
    Text(String),
    Integer(u64),
    Number(f64),
    Bool(bool),
    List(Vec<Json>),
    Object(Vec<(&'static str, Json)>),
}

impl Json {
    pub fn text(text: impl Into<String>) -> Json {
        Json::Text(text.into())
    }

    pub fn texts(texts: impl IntoIterator<Item = String>) -> Json {
        Json::List(texts.into_iter().map(Json::Text).collect())
    }

    /// `sorted`: shorter names first, as in stored documents.
    pub fn print(&self, sorted: bool) -> String {
        let mut out = String::new();
        self.write(&mut out, 0, sorted);
        out
    }

    fn write(&self, out: &mut String, depth: usize, sorted: bool) {
        match self {
            Json::Text(text) => write_json_string(text, out),
            Json::Integer(number) => write!(out, "{number}").expect("writing to a String cannot fail"),
            Json::Number(number) => write!(out, "{number:?}").expect("writing to a String cannot fail"),
            Json::Bool(truth) => out.push_str(if *truth { "true" } else { "false" }),
            Json::List(members) if members.is_empty() => out.push_str("[]"),
            Json::Object(members) if members.is_empty() => out.push_str("{}"),
            Json::List(members) => {
                out.push('[');
                for (number, member) in members.iter().enumerate() {
                    begin_member(out, number, depth + 1);
                    member.write(out, depth + 1, sorted);
                }
                begin_line(out, depth);
                out.push(']');
            }
            Json::Object(members) => {
                let mut members: Vec<&(&str, Json)> = members.iter().collect();
                if sorted {
                    members.sort_by_key(|(name, _)| (name.len(), *name));
                }
                out.push('{');
                for (number, (name, value)) in members.into_iter().enumerate() {
                    begin_member(out, number, depth + 1);
                    write_json_string(name, out);
                    out.push_str(": ");
                    value.write(out, depth + 1, sorted);
                }
                begin_line(out, depth);
                out.push('}');
            }
        }
    }
}

fn begin_member(out: &mut String, number: usize, depth: usize) {
    if number > 0 {
        out.push(',');
    }
    begin_line(out, depth);
}

fn begin_line(out: &mut String, depth: usize) {
    out.push('\n');
    out.extend(std::iter::repeat_n("  ", depth));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn members_are_ordered_by_length_and_texts_escaped() {
        let json = Json::Object(vec![
            ("query", Json::text("a \"b\"\n\u{1}")),
            ("rows", Json::Number(2.0)),
            ("list", Json::List(vec![Json::Bool(true), Json::List(Vec::new())])),
        ]);
        let expected = "{\n  \"list\": [\n    true,\n    []\n  ],\n  \"rows\": 2.0,\n  \"query\": \"a \\\"b\\\"\\n\\u0001\"\n}";
        assert_eq!(json.print(true), expected);
    }
}
