//! ANALYZE TABLE .. UPDATE HISTOGRAM and DROP HISTOGRAM.
//!
//! Each column has its own outcome, told in a row. Called by `maintenance`.
use catalog::LockMode;
use datum::{ErrorCode, SqlError, error_code};
use parser::ast::{Histogram, Ident, MaintainTable};
use table::{HistogramOrder, TableHandle, histogram_type};

use crate::caller::Caller;
use crate::statistics::histogram_data::HistogramReader;
use crate::statistics::maintenance::Line;
use definition::TableName;
use schema::TableDef;
use std::sync::Arc;

const ER_DATA_OUT_OF_RANGE: ErrorCode = ErrorCode::new(1690, "22003", "%s value is out of range in '%s'");
const BUCKETS_DEFAULT: u64 = 100;
const BUCKETS_MAX: u64 = 1024;

impl Caller<'_> {
    /// Lines for the named table; an error ends the statement.
    pub(crate) async fn change_histograms(
        &mut self,
        maintain: &MaintainTable<'_>,
        histogram: &Histogram<'_>,
        name: &TableName,
    ) -> Result<Vec<Line>, SqlError> {
        check_histogram(histogram)?;
        let error = |text: String| Ok(vec![("Error", text)]);
        if maintain.tables.len() > 1 {
            return error("Only one table can be specified while modifying histogram statistics.".to_owned());
        }
        if self.instance().catalog().view(&name.database, &name.name).is_some()
            || self.instance().virtual_tables.find(&name.database, &name.name).is_some()
        {
            return error("Cannot create histogram statistics for a view.".to_owned());
        }
        let lock = (name.lock(), LockMode::Shared);
        self.check_locked_tables(std::slice::from_ref(&lock))?;
        let _locks = self.lock_for_change(vec![lock]).await?;
        let catalog = self.instance().catalog().clone();
        let table = match catalog.require_table(&name.database, &name.name) {
            Ok(table) => table,
            Err(missing) => return error(missing.message),
        };
        table.clone().ready(catalog.engine()).await?;
        let mut columns: Vec<&Ident<'_>> = histogram.columns.iter().collect();
        columns.sort_by_key(|column| column.name.to_lowercase());
        if let Some(data) = histogram.using_data {
            return match columns.as_slice() {
                [column] => self.given_histogram(&table, column, data).await,
                _ => error(
                    "Only one column can be specified while modifying histogram statistics with JSON data."
                        .to_owned(),
                ),
            };
        }
        match histogram.drop {
            true => self.drop_histograms(&table, &columns).await,
            false => self.make_histograms(&table, &columns, histogram).await,
        }
    }

    /// UPDATE HISTOGRAM .. USING DATA.
    async fn given_histogram(
        &mut self,
        table: &Arc<TableHandle>,
        column: &Ident<'_>,
        data: &[u8],
    ) -> Result<Vec<Line>, SqlError> {
        let definition = table.definition().clone();
        let position = match histogram_column(&definition, column.name) {
            Ok(position) => position,
            Err(text) => return Ok(vec![("Error", text)]),
        };
        let given = &definition.columns[position];
        let failed = format!(
            "Unable to build histogram statistics for column '{}' in table '{}'.'{}'",
            given.name, definition.database, definition.name
        );
        let document = match datum::parse_json(data) {
            Ok(document) => document,
            Err(invalid) => {
                let lines = [
                    invalid.in_function(1, "UPDATE HISTOGRAM").message,
                    failed,
                    "JSON format error.".to_owned(),
                ];
                return Ok(lines.into_iter().map(|line| ("Error", line)).collect());
            }
        };
        let made_at = self.now_utc_micros();
        let settings = self.settings().clone();
        let reader = HistogramReader { column: given, position, conversion: self.conversion_of(&settings) };
        match reader.read(document, made_at) {
            Ok(histogram) => {
                self.instance().catalog().clone().put_histogram(table, histogram).await?;
                let text = format!("Histogram statistics created for column '{}'.", given.name);
                Ok(vec![("status", text)])
            }
            Err(reason) => Ok(vec![("Error", failed), ("Error", reason)]),
        }
    }

    async fn make_histograms(
        &mut self,
        table: &Arc<TableHandle>,
        columns: &[&Ident<'_>],
        histogram: &Histogram<'_>,
    ) -> Result<Vec<Line>, SqlError> {
        let order = HistogramOrder {
            buckets: histogram.buckets.unwrap_or(BUCKETS_DEFAULT) as usize,
            is_renewed: histogram.auto_update.unwrap_or(false),
            made_at: self.now_utc_micros(),
        };
        let definition = table.definition().clone();
        let (mut lines, mut chosen) = (Vec::new(), Vec::new());
        for column in columns {
            match histogram_column(&definition, column.name) {
                Ok(position) => {
                    chosen.push(position);
                    let name = &definition.columns[position].name;
                    lines.push(("status", format!("Histogram statistics created for column '{name}'.")));
                }
                Err(text) => lines.push(("Error", text)),
            }
        }
        if !chosen.is_empty() {
            self.count_for_histograms(table, &chosen, order).await?;
        }
        lines.sort_by_key(|(kind, _)| *kind == "Error");
        Ok(lines)
    }

    async fn count_for_histograms(
        &mut self,
        table: &Arc<TableHandle>,
        columns: &[usize],
        order: HistogramOrder,
    ) -> Result<(), SqlError> {
        let memory = self.variables().by_name("histogram_generation_max_mem_size").as_unsigned() as usize;
        let catalog = self.instance().catalog().clone();
        let interrupt = &self.process().kill.interrupt;
        catalog.make_histograms(table, columns, order, memory, &|| interrupt.check()).await
    }

    /// ANALYZE TABLE makes those anew that are to be kept up to date.
    pub(crate) async fn renew_histograms(&mut self, table: &Arc<TableHandle>) -> Result<(), SqlError> {
        let definition = table.definition().clone();
        let known = table.statistics().histograms();
        for histogram in known.iter().filter(|known| known.is_renewed) {
            if let Ok(column) = histogram_column(&definition, &histogram.column) {
                let order = HistogramOrder {
                    buckets: histogram.buckets_wanted as usize,
                    is_renewed: true,
                    made_at: self.now_utc_micros(),
                };
                self.count_for_histograms(table, &[column], order).await?;
            }
        }
        Ok(())
    }

    async fn drop_histograms(
        &mut self,
        table: &Arc<TableHandle>,
        columns: &[&Ident<'_>],
    ) -> Result<Vec<Line>, SqlError> {
        let catalog = self.instance().catalog().clone();
        let mut lines = Vec::new();
        for column in columns {
            let definition = table.definition();
            let known = definition.columns.iter().find(|known| known.name.eq_ignore_ascii_case(column.name));
            lines.push(match known {
                None => ("Error", format!("The column '{}' does not exist.", column.name)),
                Some(known) => match catalog.drop_histogram(table, &known.name).await? {
                    true => ("status", format!("Histogram statistics removed for column '{}'.", known.name)),
                    false => ("Error", format!("No histogram statistics found for column '{}'.", known.name)),
                },
            });
        }
        lines.sort_by_key(|(kind, _)| *kind == "Error");
        Ok(lines)
    }
}

fn check_histogram(histogram: &Histogram<'_>) -> Result<(), SqlError> {
    if histogram.buckets.is_some_and(|buckets| !(1..=BUCKETS_MAX).contains(&buckets)) {
        return Err(ER_DATA_OUT_OF_RANGE.with(&[&"Number of buckets", &"ANALYZE TABLE"]));
    }
    for (number, column) in histogram.columns.iter().enumerate() {
        if histogram.columns[..number].iter().any(|known| known.name.eq_ignore_ascii_case(column.name)) {
            return Err(error_code::ER_DUP_FIELDNAME.with(&[&column.name]));
        }
    }
    Ok(())
}

/// The position of a column that may have a histogram, or why it may not.
fn histogram_column(table: &TableDef, name: &str) -> Result<usize, String> {
    let is_named = |column: &schema::ColumnDef| !column.hidden && column.name.eq_ignore_ascii_case(name);
    let position = table.columns.iter().position(is_named);
    let position = position.ok_or_else(|| format!("The column '{name}' does not exist."))?;
    let column = &table.columns[position];
    if histogram_type(&column.column_type).is_none() {
        return Err(format!("The column '{}' has an unsupported data type.", column.name));
    }
    let is_key = table.indexes.iter().any(|index| {
        index.is_unique() && matches!(index.parts.as_slice(), [part] if part.column == position)
    });
    if is_key {
        return Err(format!("The column '{}' is covered by a single-part unique index.", column.name));
    }
    Ok(position)
}
