//! The value of a path for a document: numbers, texts and conditions behave as SQL's do.
use std::cmp::Ordering;

use datum::{ColumnType, SqlError, Value, error_code};

use super::document::Kind;
use super::node_set::Selected;
use super::path::{Calculation, Path, PathFunction};
use crate::xpath::evaluation::Evaluation;
use expression::ComparisonOperator;

/// What a path gives that selects no nodes.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Scalar {
    Null,
    Integer(i64),
    Real(f64),
    Text(Vec<u8>),
}

impl Scalar {
    fn of(value: Value, column: &ColumnType) -> Scalar {
        match value {
            Value::Null => Scalar::Null,
            Value::Int(number) => Scalar::Integer(number),
            Value::Double(number) => Scalar::Real(number),
            Value::Decimal(_) | Value::UInt(_) => {
                value.to_f64(column, &mut datum::no_warning).map_or(Scalar::Null, Scalar::Real)
            }
            other => Scalar::Text(other.to_text(column).into_owned()),
        }
    }

    pub fn into_text(self) -> Option<Vec<u8>> {
        Some(match self {
            Scalar::Null => return None,
            Scalar::Integer(number) => number.to_string().into_bytes(),
            Scalar::Real(number) => {
                let mut text = Vec::new();
                datum::write_double(number, None, &mut text);
                text
            }
            Scalar::Text(text) => text,
        })
    }
}

fn flag(truth: bool) -> Scalar {
    Scalar::Integer(i64::from(truth))
}

impl Evaluation<'_, '_> {
    /// The texts right below the selected nodes, in their order.
    pub fn text_of(&self, selected: &[Selected]) -> Vec<u8> {
        let mut is_selected = vec![false; self.document.nodes.len()];
        selected.iter().for_each(|selected| is_selected[selected.node] = true);
        let mut text = Vec::new();
        for (number, node) in self.document.nodes.iter().enumerate() {
            if node.kind == Kind::Text && is_selected[node.parent] {
                if !text.is_empty() {
                    text.push(b' ');
                }
                text.extend_from_slice(self.document.bytes(number));
            }
        }
        text
    }

    pub fn value(&self, path: &Path, current: Option<Selected>) -> Result<Scalar, SqlError> {
        Ok(match path {
            Path::Nodes(nodes) => Scalar::Text(self.text_of(&self.select(nodes, current)?)),
            Path::Integer(number) => Scalar::Integer(*number),
            Path::Real(number) => Scalar::Real(*number),
            Path::Text(text) => Scalar::Text(text.to_vec()),
            Path::Variable(name) => match self.context.session.user_variable(name) {
                Some((value, column)) => Scalar::of(value, &column),
                None => Scalar::Null,
            },
            Path::And(left, right) => flag(self.truth(left, current)? && self.truth(right, current)?),
            Path::Or(left, right) => flag(self.truth(left, current)? || self.truth(right, current)?),
            Path::Compare(operator, left, right) => self.compare(*operator, left, right, current)?,
            Path::Calculate(calculation, left, right) => {
                let (left, right) = (self.value(left, current)?, self.value(right, current)?);
                self.calculate(*calculation, left, right)?
            }
            Path::Negate(operand) => match self.value(operand, current)? {
                Scalar::Integer(number) => {
                    number.checked_neg().map_or(Scalar::Real(-(number as f64)), Scalar::Integer)
                }
                other => self.real(&other).map_or(Scalar::Null, |number| Scalar::Real(-number)),
            },
            Path::Call(function, arguments) => self.call(*function, arguments, current)?,
        })
    }

    /// Nodes are true where they are exactly one, as in MySQL.
    pub fn truth(&self, path: &Path, current: Option<Selected>) -> Result<bool, SqlError> {
        if let Path::Nodes(nodes) = path {
            return Ok(self.select(nodes, current)?.len() == 1);
        }
        let value = self.value(path, current)?;
        Ok(self.real(&value).is_some_and(|number| number != 0.0))
    }

    fn real(&self, value: &Scalar) -> Option<f64> {
        match value {
            Scalar::Null => None,
            Scalar::Integer(number) => Some(*number as f64),
            Scalar::Real(number) => Some(*number),
            Scalar::Text(text) => {
                let column = ColumnType::varchar(0, self.collation);
                Value::bytes(text).to_f64(&column, &mut |warning| self.context.warn(warning))
            }
        }
    }

    pub fn integer(&self, path: &Path, current: Option<Selected>) -> Result<Option<i64>, SqlError> {
        Ok(match self.value(path, current)? {
            Scalar::Null => None,
            Scalar::Integer(number) => Some(number),
            Scalar::Real(number) => Some(number.round_ties_even() as i64),
            Scalar::Text(text) => {
                let column = ColumnType::varchar(0, self.collation);
                let number =
                    Value::bytes(&text).to_integer(&column, &mut |warning| self.context.warn(warning));
                number.map(|number| i64::try_from(number).unwrap_or(i64::MAX))
            }
        })
    }

    fn compare(
        &self,
        operator: ComparisonOperator,
        left: &Path,
        right: &Path,
        current: Option<Selected>,
    ) -> Result<Scalar, SqlError> {
        let (nodes, scalar, operator) = match (left, right) {
            (Path::Nodes(nodes), scalar) => (nodes, scalar, operator),
            (scalar, Path::Nodes(nodes)) => (nodes, scalar, operator.swapped()),
            _ => {
                let (left, right) = (self.value(left, current)?, self.value(right, current)?);
                return Ok(self
                    .order(&left, &right)
                    .map_or(Scalar::Null, |order| flag(operator.accepts(order))));
            }
        };
        let scalar = self.value(scalar, current)?;
        for selected in self.select(nodes, current)? {
            let mut inside = self.document.inside(selected.node);
            let found = inside.any(|inner| {
                let node = &self.document.nodes[inner];
                let is_own_text = node.kind == Kind::Text && node.parent == selected.node;
                let text = || Scalar::Text(self.document.bytes(inner).to_vec());
                is_own_text && self.order(&text(), &scalar).is_some_and(|order| operator.accepts(order))
            });
            if found {
                return Ok(flag(true));
            }
        }
        Ok(flag(false))
    }

    fn order(&self, left: &Scalar, right: &Scalar) -> Option<Ordering> {
        match (left, right) {
            (Scalar::Text(left), Scalar::Text(right)) => Some(self.collation.compare(left, right)),
            (Scalar::Integer(left), Scalar::Integer(right)) => Some(left.cmp(right)),
            _ => self.real(left)?.partial_cmp(&self.real(right)?),
        }
    }

    fn calculate(&self, calculation: Calculation, left: Scalar, right: Scalar) -> Result<Scalar, SqlError> {
        use Calculation as C;
        let by_zero = || {
            self.context.warn(error_code::ER_DIVISION_BY_ZERO.plain());
            Ok(Scalar::Null)
        };
        let beyond = |kind: &str| error_code::ER_DATA_OUT_OF_RANGE.with(&[&kind, &"XPATH"]);
        if let (Scalar::Integer(left), Scalar::Integer(right)) = (&left, &right) {
            let number = match calculation {
                C::Divide | C::Modulo if *right == 0 => return by_zero(),
                C::Add => left.checked_add(*right),
                C::Subtract => left.checked_sub(*right),
                C::Multiply => left.checked_mul(*right),
                C::Divide => left.checked_div(*right),
                C::Modulo => Some(left.wrapping_rem(*right)),
            };
            return number.map(Scalar::Integer).ok_or_else(|| beyond("BIGINT"));
        }
        let (Some(left), Some(right)) = (self.real(&left), self.real(&right)) else {
            return Ok(Scalar::Null);
        };
        let number = match calculation {
            C::Divide | C::Modulo if right == 0.0 => return by_zero(),
            C::Add => left + right,
            C::Subtract => left - right,
            C::Multiply => left * right,
            C::Divide => return Ok(Scalar::Integer((left / right) as i64)),
            C::Modulo => left % right,
        };
        if number.is_finite() { Ok(Scalar::Real(number)) } else { Err(beyond("DOUBLE")) }
    }

    fn call(
        &self,
        function: PathFunction,
        arguments: &[Path],
        current: Option<Selected>,
    ) -> Result<Scalar, SqlError> {
        use PathFunction as F;
        let text = |place: usize| Ok::<_, SqlError>(self.value(&arguments[place], current)?.into_text());
        let number = |change: fn(f64) -> f64| {
            Ok(match self.value(&arguments[0], current)? {
                Scalar::Integer(number) => Scalar::Integer(number),
                other => self.real(&other).map_or(Scalar::Null, |number| Scalar::Real(change(number))),
            })
        };
        Ok(match function {
            F::True => flag(true),
            F::False => flag(false),
            F::Boolean => flag(self.truth(&arguments[0], current)?),
            F::Not => flag(!self.truth(&arguments[0], current)?),
            F::Position => Scalar::Integer(current.map_or(0, |current| current.position as i64 + 1)),
            F::Last => Scalar::Integer(current.map_or(0, |current| current.count as i64)),
            F::Count => match &arguments[0] {
                Path::Nodes(nodes) => Scalar::Integer(self.select(nodes, current)?.len() as i64),
                _ => Scalar::Null,
            },
            F::Sum => self.sum(&arguments[0], current)?,
            F::Ceiling => return number(f64::ceil),
            F::Floor => return number(f64::floor),
            F::Round => return number(f64::round_ties_even),
            F::Number => {
                let value = self.value(&arguments[0], current)?;
                self.real(&value).map_or(Scalar::Null, Scalar::Real)
            }
            F::StringLength => match text(0)? {
                Some(text) => Scalar::Integer(self.collation.charset().character_count(&text) as i64),
                None => Scalar::Null,
            },
            // The arguments behind the second are not looked at.
            F::Concat => match (text(0)?, text(1)?) {
                (Some(left), Some(right)) => Scalar::Text([left, right].concat()),
                _ => Scalar::Null,
            },
            F::Contains => match (text(0)?, text(1)?) {
                (Some(text), Some(part)) => flag(self.contains(&text, &part)),
                _ => Scalar::Null,
            },
            F::Substring => self.substring(arguments, current)?,
        })
    }

    /// Whether the text holds the part in the collation, character by character.
    fn contains(&self, text: &[u8], part: &[u8]) -> bool {
        let charset = self.collation.charset();
        let (all, length) = (charset.character_count(text), charset.character_count(part));
        (0..=all.saturating_sub(length)).any(|start| {
            env::tick(1);
            let from = charset.byte_offset(text, start);
            let to = from + charset.byte_offset(&text[from..], length);
            self.collation.compare(&text[from..to], part).is_eq()
        })
    }

    fn substring(&self, arguments: &[Path], current: Option<Selected>) -> Result<Scalar, SqlError> {
        let Some(text) = self.value(&arguments[0], current)?.into_text() else { return Ok(Scalar::Null) };
        let Some(start) = self.integer(&arguments[1], current)? else { return Ok(Scalar::Null) };
        let length = match arguments.get(2) {
            Some(length) => match self.integer(length, current)? {
                Some(length) => usize::try_from(length).unwrap_or(0),
                None => return Ok(Scalar::Null),
            },
            None => usize::MAX,
        };
        let charset = self.collation.charset();
        let count = charset.character_count(&text);
        let magnitude = usize::try_from(start.unsigned_abs()).unwrap_or(usize::MAX);
        let first = if start < 0 { count.checked_sub(magnitude) } else { magnitude.checked_sub(1) };
        let Some(first) = first.filter(|first| *first < count) else { return Ok(Scalar::Text(Vec::new())) };
        let from = charset.byte_offset(&text, first);
        let to = charset.byte_offset(&text, first.saturating_add(length).min(count));
        Ok(Scalar::Text(text[from..to].to_vec()))
    }

    fn sum(&self, path: &Path, current: Option<Selected>) -> Result<Scalar, SqlError> {
        let Path::Nodes(nodes) = path else { return Ok(Scalar::Null) };
        let mut sum = 0.0;
        for selected in self.select(nodes, current)? {
            for inner in self.document.inside(selected.node) {
                let node = &self.document.nodes[inner];
                if node.kind == Kind::Text && node.parent == selected.node {
                    sum += datum::double_prefix(self.document.bytes(inner)).value;
                }
            }
        }
        Ok(Scalar::Real(sum))
    }
}
