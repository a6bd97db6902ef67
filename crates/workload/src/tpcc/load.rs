//! The rows of clause 4.3.3, in pieces: the items, and per warehouse its stock and each of its districts.
//!
//! Invariant: the data meets all consistency conditions from the start, also when it is smaller than specified.

use client::Value;

use super::{DISTRICTS, Sizes, numbers};
use crate::random::Random;
use crate::words::{Inserts, Row};
use crate::{Batch, Chunk};

const ITEMS: usize = 0;
const WAREHOUSE: usize = 1;
const STOCK: usize = 2;
const DISTRICT: usize = 3;
const LOADED_AT: &str = "2026-01-01 00:00:00";

/// `first` is the warehouse and `last` the district, where there is one.
pub fn chunks(sizes: Sizes) -> Vec<Chunk> {
    let mut chunks = vec![Chunk { table: ITEMS, first: 0, last: 0 }];
    for warehouse in 1..=sizes.warehouses as u64 {
        chunks.push(Chunk { table: WAREHOUSE, first: warehouse, last: 0 });
        chunks.push(Chunk { table: STOCK, first: warehouse, last: 0 });
        let districts = 1..=DISTRICTS as u64;
        chunks.extend(districts.map(|district| Chunk { table: DISTRICT, first: warehouse, last: district }));
    }
    chunks
}

type Batches<'a> = Box<dyn Iterator<Item = Batch> + Send + 'a>;

pub fn batches(sizes: Sizes, seed: u64, chunk: Chunk) -> Batches<'static> {
    let stream = (chunk.table as u64) << 48 | chunk.first << 16 | chunk.last;
    let random = Random::new(seed, stream);
    let (w, d) = (chunk.first as i64, chunk.last as i64);
    match chunk.table {
        ITEMS => items(sizes, random),
        WAREHOUSE => warehouse(sizes, random, w),
        STOCK => stock(sizes, random, w),
        _ => {
            let lines: Vec<i64> = {
                let mut random = random.clone();
                (0..sizes.customers).map(|_| random.between(5, 15)).collect()
            };
            Box::new(
                customers(sizes, random.clone(), w, d)
                    .chain(history(sizes, random.clone(), w, d))
                    .chain(orders(sizes, random.clone(), w, d, lines.clone()))
                    .chain(new_orders(sizes, w, d))
                    .chain(order_lines(sizes, random, w, d, lines)),
            )
        }
    }
}

/// Rows `1..=count` of a table.
fn rows(
    head: &str,
    count: i64,
    mut fill: impl FnMut(i64, &mut Row<'_>) + Send + 'static,
) -> Batches<'static> {
    let mut next = 1;
    Box::new(Inserts::new(format!("INSERT INTO {head} VALUES"), move |row: &mut Row<'_>| {
        if next > count {
            return false;
        }
        fill(next, row);
        next += 1;
        true
    }))
}

fn put_address(random: &mut Random, row: &mut Row<'_>) {
    for _ in 0..3 {
        row.put(random.letters(10, 20).as_str());
    }
    row.put(random.letters(2, 2).as_str()).put(numbers::zip(random).as_str());
}

fn items(sizes: Sizes, mut random: Random) -> Batches<'static> {
    rows("item", sizes.items, move |id, row| {
        row.put(id).put(random.between(1, 10_000)).put(random.letters(14, 24).as_str());
        row.put(Value::Hundredths(random.between(100, 10_000))).put(numbers::data(&mut random).as_str());
    })
}

fn warehouse(sizes: Sizes, mut random: Random, w: i64) -> Batches<'static> {
    // What was paid so far is ten for each customer: 300,000 by the specification.
    let paid = sizes.customers * 1000;
    let mut of_districts = random.clone();
    let first = rows("warehouse", 1, move |_, row| {
        row.put(w).put(random.letters(6, 10).as_str());
        put_address(&mut random, row);
        row.put(Value::Hundredths(random.between(0, 20))).put(Value::Hundredths(paid * DISTRICTS));
    });
    let next_order = sizes.customers + 1;
    first
        .chain(rows("district", DISTRICTS, move |d, row| {
            row.put(d).put(w).put(of_districts.letters(6, 10).as_str());
            put_address(&mut of_districts, row);
            row.put(Value::Hundredths(of_districts.between(0, 20)))
                .put(Value::Hundredths(paid))
                .put(next_order);
        }))
        .boxed()
}

/// Puts an iterator in a box where its type has no name.
trait Boxed: Iterator<Item = Batch> + Send + Sized + 'static {
    fn boxed(self) -> Batches<'static> {
        Box::new(self)
    }
}

impl<All: Iterator<Item = Batch> + Send + 'static> Boxed for All {}

fn stock(sizes: Sizes, mut random: Random, w: i64) -> Batches<'static> {
    rows("stock", sizes.items, move |id, row| {
        row.put(id).put(w).put(random.between(10, 100));
        for _ in 0..10 {
            row.put(random.letters(24, 24).as_str());
        }
        row.put(0).put(0).put(0).put(numbers::data(&mut random).as_str());
    })
}

fn customers(sizes: Sizes, mut random: Random, w: i64, d: i64) -> Batches<'static> {
    rows("customer", sizes.customers, move |id, row| {
        let last = numbers::loaded_name(&mut random, id);
        row.put(id).put(d).put(w).put(random.letters(8, 16).as_str()).put("OE").put(last.as_str());
        put_address(&mut random, row);
        let credit = if random.happens(0.1) { "BC" } else { "GC" };
        row.put(random.digits(16, 16).as_str()).put(LOADED_AT).put(credit).put(50_000);
        row.put(Value::Hundredths(random.between(0, 50))).put(Value::Hundredths(-1000));
        row.put(Value::Hundredths(1000)).put(1).put(0).put(random.letters(300, 500).as_str());
    })
}

fn history(sizes: Sizes, mut random: Random, w: i64, d: i64) -> Batches<'static> {
    rows("history", sizes.customers, move |id, row| {
        row.put(id).put(d).put(w).put(d).put(w).put(LOADED_AT).put(Value::Hundredths(1000));
        row.put(random.letters(12, 24).as_str());
    })
}

/// The last 900 of 3,000 orders are not delivered yet.
fn first_open(sizes: Sizes) -> i64 {
    sizes.customers - sizes.customers * 3 / 10 + 1
}

fn orders(sizes: Sizes, mut random: Random, w: i64, d: i64, lines: Vec<i64>) -> Batches<'static> {
    let mut customers: Vec<i64> = (1..=sizes.customers).collect();
    random.shuffle(&mut customers);
    rows("orders", sizes.customers, move |id, row| {
        let place = (id - 1) as usize;
        row.put(id).put(d).put(w).put(customers[place]).put(LOADED_AT);
        let carrier = random.between(1, 10);
        row.put(if id < first_open(sizes) { Value::Int(carrier) } else { Value::Null });
        row.put(lines[place]).put(1);
    })
}

fn new_orders(sizes: Sizes, w: i64, d: i64) -> Batches<'static> {
    let first = first_open(sizes);
    rows("new_orders", sizes.customers - first + 1, move |number, row| {
        row.put(first + number - 1).put(d).put(w);
    })
}

fn order_lines(sizes: Sizes, mut random: Random, w: i64, d: i64, lines: Vec<i64>) -> Batches<'static> {
    let (mut order, mut line) = (1, 0);
    rows("order_line", lines.iter().sum(), move |_, row| {
        line += 1;
        if line > lines[(order - 1) as usize] {
            order += 1;
            line = 1;
        }
        let is_open = order >= first_open(sizes);
        row.put(order).put(d).put(w).put(line).put(random.between(1, sizes.items)).put(w);
        row.put(if is_open { Value::Null } else { Value::Text(LOADED_AT) }).put(5);
        row.put(Value::Hundredths(if is_open { random.between(1, 999_999) } else { 0 }));
        row.put(random.letters(24, 24).as_str());
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_row_is_loaded() {
        let sizes = Sizes { warehouses: 2, items: 100, customers: 30 };
        let rows = |table| -> u64 {
            let chunks = chunks(sizes).into_iter().filter(|chunk| chunk.table == table);
            chunks.flat_map(|chunk| batches(sizes, 1, chunk)).map(|batch| batch.rows).sum()
        };
        assert_eq!(rows(ITEMS), 100);
        assert_eq!(rows(WAREHOUSE), 2 * 11);
        assert_eq!(rows(STOCK), 200);
        // Customers, history, orders, a third of them open, and five to fifteen lines of each.
        let districts = rows(DISTRICT);
        assert!(
            (20 * (3 * 30 + 9 + 5 * 30)..20 * (3 * 30 + 9 + 15 * 30)).contains(&districts),
            "{districts}"
        );
    }
}
