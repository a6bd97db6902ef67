//! A histogram that UPDATE HISTOGRAM .. USING DATA spells out as a JSON document, in the shape that
//! `information_schema.COLUMN_STATISTICS` shows.
//!
//! Invariant: a histogram comes out only of a document that is right in all its parts: values of the column's type in
//! order, shares that grow and add up. The reasons are MySQL's. Called by `histograms`.
use datum::{ColumnType, Json, JsonMap, Severity, TypeKind, Value, json_text};
use definition::Conversion;
use schema::ColumnDef;
use table::{GivenBucket, Histogram, HistogramOrder, histogram_moment, histogram_part, histogram_type};

pub struct HistogramReader<'a> {
    pub column: &'a ColumnDef,
    pub position: usize,
    pub conversion: Conversion<'a>,
}

const BUCKETS_MAX: i64 = 1024;
/// Shares are sums of what was rounded.
const SHARE_TOLERANCE: f64 = 1e-6;

impl HistogramReader<'_> {
    pub fn read(&self, document: Json, made_at: i64) -> Result<Histogram, String> {
        let Json::Object(mut members) = document else { return Err("JSON data is not an object".to_owned()) };
        let is_singleton = match string(&members, "histogram-type")? {
            "singleton" => true,
            "equi-height" => false,
            _ => return Err(r#"Unsupported histogram type at '$."histogram-type"'."#.to_owned()),
        };
        if Some(string(&members, "data-type")?) != histogram_type(&self.column.column_type) {
            return Err(
                r#"Histogram data type does not match column data type at '$."data-type"'."#.to_owned()
            );
        }
        let Json::Int(collation) = *member(&members, "collation-id")? else {
            return Err(wrong_type(r#"$."collation-id""#));
        };
        let known = u16::try_from(collation).ok().and_then(collation::CollationId::by_number);
        if known.is_none() {
            return Err(r#"The charset ID does not exist at '$."collation-id"'."#.to_owned());
        }
        let nulls = share(member(&members, "null-values")?, r#"$."null-values""#, "frequency")?;
        share(member(&members, "sampling-rate")?, r#"$."sampling-rate""#, "sampling rate")?;
        let Json::Bool(is_renewed) = *member(&members, "auto-update")? else {
            return Err(wrong_type(r#"$."auto-update""#));
        };
        const COUNT: &str = "number-of-buckets-specified";
        let Json::Int(wanted) = *member(&members, COUNT)? else {
            return Err(wrong_type(&format!(r#"$."{COUNT}""#)));
        };
        if !(1..=BUCKETS_MAX).contains(&wanted) {
            return Err(format!(
                r#"The value of attribute {COUNT} must be an integer in the range from 1 to {BUCKETS_MAX} at '$."{COUNT}"'."#
            ));
        }
        let Json::Array(listed) = member(&members, "buckets")? else { return Err(wrong_type("$.buckets")) };
        let buckets = self.buckets(listed, is_singleton)?;
        if let Some(last) = buckets.last()
            && (nulls + last.cumulative - 1.0).abs() > SHARE_TOLERANCE
        {
            return Err(
                "The sum of the null values fraction and the cumulative frequency of the last bucket \
                        should be 1.'"
                    .to_owned(),
            );
        }
        if buckets.len() as i64 > wanted {
            return Err(format!(
                "The number of real buckets must be less than or equal to the number specified by attribute {COUNT}."
            ));
        }
        members.insert("last-updated".to_owned(), histogram_moment(made_at));
        let order = HistogramOrder { buckets: wanted as usize, is_renewed, made_at };
        let text = json_text(&Json::Object(members));
        Ok(Histogram::given(&self.column.name, text, order, nulls, buckets))
    }

    fn buckets(&self, listed: &[Json], is_singleton: bool) -> Result<Vec<GivenBucket>, String> {
        let mut buckets: Vec<GivenBucket> = Vec::with_capacity(listed.len());
        for (number, bucket) in listed.iter().enumerate() {
            let path = format!("$.buckets[{number}]");
            let Json::Array(parts) = bucket else { return Err(wrong_type(&path)) };
            let read = match (is_singleton, parts.as_slice()) {
                (true, [value, cumulative]) => self.single(value, cumulative, &path)?,
                (false, [lower, upper, cumulative, distinct]) => {
                    self.range([lower, upper], cumulative, distinct, &path)?
                }
                (true, _) => return Err(format!("Two elements required for bucket at '{path}'.")),
                (false, _) => return Err(format!("Four elements required for bucket at '{path}'.")),
            };
            if let Some(previous) = buckets.last() {
                if read.lower <= previous.upper {
                    return Err(match is_singleton {
                        true => {
                            format!("The value at '{path}[0]' must be greater than that of previous bucket.")
                        }
                        false => format!(
                            "The lower inclusive value of bucket at '{path}[0]' must be greater than the upper \
                             inclusive value of previous bucket."
                        ),
                    });
                }
                if read.cumulative <= previous.cumulative {
                    let at = if is_singleton { 1 } else { 2 };
                    return Err(format!(
                        "The cumulative frequency of bucket at '{path}[{at}]' must be greater than that of \
                         previous bucket."
                    ));
                }
            }
            buckets.push(read);
        }
        Ok(buckets)
    }

    fn single(&self, value: &Json, cumulative: &Json, path: &str) -> Result<GivenBucket, String> {
        let key = self.key(value, &format!("{path}[0]"))?;
        let cumulative = share(cumulative, &format!("{path}[1]"), "frequency")?;
        Ok(GivenBucket { lower: key.clone(), upper: key, cumulative, distinct: 1 })
    }

    fn range(
        &self,
        [lower, upper]: [&Json; 2],
        cumulative: &Json,
        distinct: &Json,
        path: &str,
    ) -> Result<GivenBucket, String> {
        let lower = self.key(lower, &format!("{path}[0]"))?;
        let upper = self.key(upper, &format!("{path}[1]"))?;
        if lower > upper {
            return Err(format!(
                "The lower inclusive value of bucket at '{path}[0]' must be less than or equal to upper \
                 inclusive value."
            ));
        }
        let cumulative = share(cumulative, &format!("{path}[2]"), "frequency")?;
        let Json::Int(distinct) = *distinct else { return Err(wrong_type(&format!("{path}[3]"))) };
        match u64::try_from(distinct) {
            Ok(distinct) if distinct > 0 => Ok(GivenBucket { lower, upper, cumulative, distinct }),
            _ => Err(format!("The number of distinct values must be a positive integer at '{path}[3]'.")),
        }
    }

    /// The key of a value of the column.
    fn key(&self, json: &Json, path: &str) -> Result<Vec<u8>, String> {
        let value = self.value(json, path)?;
        let mut key = Vec::new();
        let part = histogram_part(self.position, &self.column.column_type);
        part.write(&value, &mut key).map_err(|error| error.message)?;
        Ok(key)
    }

    fn value(&self, json: &Json, path: &str) -> Result<Value, String> {
        let out_of_range = || format!("Out of range value for column at '{path}'.");
        let format_error = || format!("Value format error at '{path}'.");
        let text = ColumnType::varchar(64, collation::CollationId::UTF8MB4_0900_AI_CI);
        let column_type = &self.column.column_type;
        let (value, from, problem) = match (histogram_type(column_type).unwrap_or_default(), json) {
            ("string", Json::String(encoded)) => {
                return match datum::opaque_of(encoded) {
                    Some(Json::Opaque(_, bytes)) => Ok(Value::Bytes(bytes)),
                    _ => Err(format_error()),
                };
            }
            ("enum", Json::Int(number)) => {
                let TypeKind::Enum(members) = &column_type.kind else { return Err(out_of_range()) };
                return match u16::try_from(*number) {
                    Ok(number) if usize::from(number) <= members.len() => Ok(Value::Enum(number)),
                    _ => Err(out_of_range()),
                };
            }
            ("set", Json::Int(bits)) => {
                let TypeKind::Set(members) = &column_type.kind else { return Err(out_of_range()) };
                return match u64::try_from(*bits) {
                    Ok(bits) if members.len() >= 64 || bits >> members.len() == 0 => Ok(Value::Set(bits)),
                    _ => Err(out_of_range()),
                };
            }
            ("int" | "uint", Json::Int(number)) => {
                (Value::Int(*number), ColumnType::bigint(), out_of_range())
            }
            ("int" | "uint", Json::UInt(number)) => {
                (Value::UInt(*number), ColumnType::bigint_unsigned(), out_of_range())
            }
            ("double" | "decimal", Json::Double(number)) => {
                let from = ColumnType::new(TypeKind::Double { digits: None });
                (Value::Double(*number), from, out_of_range())
            }
            ("decimal", Json::Int(number)) => (Value::Int(*number), ColumnType::bigint(), out_of_range()),
            ("date" | "time" | "datetime", Json::String(moment)) => {
                (Value::bytes(moment), text, format_error())
            }
            _ => return Err(wrong_type(path)),
        };
        match self.conversion.column_value(&value, &from, self.column, 1) {
            // Digits behind the point of a moment that the column has not are cut with a note.
            Ok((value, told)) if told.as_ref().is_none_or(|told| told.severity == Severity::Note) => {
                Ok(value)
            }
            _ => Err(problem),
        }
    }
}

fn member<'m>(members: &'m JsonMap, name: &str) -> Result<&'m Json, String> {
    members.get(name).ok_or_else(|| format!("Missing attribute at '{}'.", path_of(name)))
}

/// Names that are no identifiers stand in quotes.
fn path_of(name: &str) -> String {
    if name.contains('-') { format!("$.\"{name}\"") } else { format!("$.{name}") }
}

fn string<'m>(members: &'m JsonMap, name: &str) -> Result<&'m str, String> {
    match member(members, name)? {
        Json::String(text) => Ok(text),
        _ => Err(wrong_type(&path_of(name))),
    }
}

fn share(json: &Json, path: &str, what: &str) -> Result<f64, String> {
    match json {
        Json::Double(share) if (0.0..=1.0).contains(share) => Ok(*share),
        Json::Double(_) => Err(format!(
            "The {what} must be greater than or equal to 0 and less than or equal to 1 at '{path}'."
        )),
        _ => Err(wrong_type(path)),
    }
}

fn wrong_type(path: &str) -> String {
    format!("Wrong attribute type at '{path}'.")
}
