//! Differences by what they have in common: how the answers differ, and the expression without its particular columns and
//! literals. Each class is shown by its smallest case, the most frequent first.
use std::collections::BTreeMap;

use crate::answer::Answer;
use crate::argued::argued;
use crate::compare::Difference;

/// How two answers differ, worst first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Nature {
    /// A server was lost.
    Lost,
    Rows,
    /// Rows again, of a kind that the reference alone is to blame for.
    Argued,
    /// Only one server refuses.
    Refusal,
    /// The error's number.
    Error,
    /// The types of the columns.
    Types,
}

impl Nature {
    fn of(difference: &Difference) -> Nature {
        match (&difference.reference, &difference.tested) {
            (Answer::Failed(_), _) | (_, Answer::Failed(_)) => Nature::Lost,
            (Answer::Rows { rows: wanted, .. }, Answer::Rows { rows, .. }) if wanted != rows => Nature::Rows,
            (Answer::Rows { .. }, Answer::Rows { .. }) => Nature::Types,
            (Answer::Refused(_), Answer::Refused(_)) => Nature::Error,
            _ => Nature::Refusal,
        }
    }

    fn name(self) -> &'static str {
        match self {
            Nature::Lost => "lost",
            Nature::Rows => "rows",
            Nature::Argued => "argued",
            Nature::Refusal => "refusal",
            Nature::Error => "error",
            Nature::Types => "types",
        }
    }
}

/// How many differences there are of each nature, and in how many classes.
pub fn summary(classes: &[Class]) -> String {
    let of_nature = |classes: &[&Class]| -> Option<String> {
        let count: usize = classes.iter().map(|class| class.count).sum();
        Some(format!("{} {count} in {}", classes.first()?.nature.name(), classes.len()))
    };
    let all = [Nature::Lost, Nature::Rows, Nature::Argued, Nature::Refusal, Nature::Error, Nature::Types];
    let told = all.iter().filter_map(|nature| {
        of_nature(&classes.iter().filter(|class| class.nature == *nature).collect::<Vec<_>>())
    });
    told.collect::<Vec<_>>().join(", ")
}

/// The differences of one class.
pub struct Class {
    nature: Nature,
    pub name: String,
    pub count: usize,
    pub smallest: Difference,
}

/// The classes, worst nature first and by how often they occur.
pub fn classify(differences: Vec<Difference>) -> Vec<Class> {
    let mut classes: BTreeMap<(Nature, String), Class> = BTreeMap::new();
    for difference in differences {
        let nature = Nature::of(&difference);
        let shape = shape_of(&difference);
        let kind = argued(&difference, &shape).filter(|_| nature == Nature::Rows);
        let (nature, shape) = kind.map_or((nature, shape), |kind| (Nature::Argued, kind.to_owned()));
        let name = format!("{}: {shape}", nature.name());
        match classes.get_mut(&(nature, shape.clone())) {
            Some(class) => {
                class.count += 1;
                if difference.query.len() < class.smallest.query.len() {
                    class.smallest = difference;
                }
            }
            None => {
                let class = Class { nature, name, count: 1, smallest: difference };
                classes.insert((nature, shape), class);
            }
        }
    }
    let mut all: Vec<Class> = classes.into_values().collect();
    all.sort_by_key(|class| (class.nature, std::cmp::Reverse(class.count)));
    all
}

/// The expression with the family of the type in place of each column and literal.
fn shape_of(difference: &Difference) -> String {
    let mut shape = String::new();
    let mut rest = difference.expression.as_str();
    while let Some(first) = rest.chars().next() {
        let word: usize =
            rest.chars().take_while(|letter| letter.is_alphanumeric() || *letter == '_').count();
        let length = match first {
            '\'' => rest[1..].find('\'').map_or(rest.len(), |end| end + 2),
            _ if word > 0 => rest.char_indices().nth(word).map_or(rest.len(), |(end, _)| end),
            _ => first.len_utf8(),
        };
        let (piece, behind) = rest.split_at(length);
        let is_number = first.is_ascii_digit();
        match column_type(difference, piece) {
            Some(family) => shape.push_str(family),
            None if first == '\'' => shape.push_str("text"),
            None if is_number => shape.push_str("number"),
            None => shape.push_str(piece),
        }
        rest = behind;
    }
    shape
}

/// The family of a column's type, if the word is one of the table's columns.
fn column_type(difference: &Difference, word: &str) -> Option<&'static str> {
    let number = word.strip_prefix('c')?;
    if number.is_empty() || !number.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    let definition = difference.statements.get(1)?;
    let after = definition.split(&format!(" {word} ")).nth(1)?;
    let name: String = after.chars().take_while(|letter| letter.is_ascii_alphabetic()).collect();
    Some(match name.as_str() {
        "TINYINT" | "SMALLINT" | "INT" | "BIGINT" => "INTEGER",
        "DECIMAL" => "DECIMAL",
        "FLOAT" | "DOUBLE" => "REAL",
        "CHAR" | "VARCHAR" | "TEXT" => "TEXT",
        "BINARY" | "VARBINARY" | "BLOB" => "BYTES",
        "DATE" => "DATE",
        "TIME" => "TIME",
        "DATETIME" | "TIMESTAMP" => "DATETIME",
        "YEAR" => "YEAR",
        "ENUM" | "SET" => "MEMBERS",
        "BIT" => "BIT",
        "JSON" => "JSON",
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn difference(query: &str, tested: Answer) -> Difference {
        let reference = Answer::Rows { kinds: vec!["integer".to_owned()], rows: vec!["1".to_owned()] };
        let table = "CREATE TABLE t (id INT PRIMARY KEY, c0 TINYINT UNSIGNED, c1 VARCHAR(12), KEY (c1))";
        let statements = vec![String::new(), table.to_owned()];
        let expression = query.strip_prefix("SELECT id FROM t WHERE ").unwrap_or(query).to_owned();
        Difference { seed: 1, statements, query: query.to_owned(), expression, reference, tested }
    }

    #[test]
    fn classes_know_types_and_not_columns() {
        let wrong = || Answer::Rows { kinds: vec!["integer".to_owned()], rows: Vec::new() };
        let classes = classify(vec![
            difference("SELECT id FROM t WHERE c0 IN (c1, 'a''b')", Answer::Refused(1)),
            difference("SELECT id FROM t WHERE c0 = (1.5 + c1)", wrong()),
            difference("SELECT id FROM t WHERE c0 = (2 + c1)", wrong()),
        ]);
        let names: Vec<(&str, usize)> =
            classes.iter().map(|class| (class.name.as_str(), class.count)).collect();
        assert_eq!(names[0].0, "rows: INTEGER = (number + TEXT)");
        assert_eq!(classes[0].smallest.query, "SELECT id FROM t WHERE c0 = (2 + c1)");
        assert_eq!(names[1].1, 1);
    }
}
