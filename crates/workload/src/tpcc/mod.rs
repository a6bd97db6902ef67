//! TPC-C on tpcc-mysql's schema: five transactions, the specification's mix, random numbers and consistency conditions.
//!
//! Invariant: with the default 100,000 items and 3,000 customers the data and the transactions are those of revision
//! 5.11, without keying and thinking times; a session's home warehouse is drawn anew for each transaction, as
//! tpcc-mysql does. Made by `workload`.

mod check;
mod load;
mod numbers;
mod schema;
mod terminal;
mod transactions;

pub use terminal::Terminal;

use crate::session::Session;
use crate::settings::Settings;
use crate::{Batch, Check, Chunk, Workload};

/// Districts of a warehouse.
pub const DISTRICTS: i64 = 10;
/// The kinds of transactions, in the order of `Tally::kind`.
pub const KINDS: [&str; 5] = ["new_order", "payment", "order_status", "delivery", "stock_level"];

/// How large the data is.
#[derive(Debug, Clone, Copy)]
pub struct Sizes {
    pub warehouses: i64,
    pub items: i64,
    /// Customers of a district; as many orders are there at first.
    pub customers: i64,
}

/// TPC-C.
pub struct Tpcc {
    sizes: Sizes,
    settings: Settings,
}

impl Tpcc {
    pub fn new(settings: &Settings) -> Result<Self, String> {
        let sizes = Sizes {
            warehouses: settings.scale as i64,
            items: settings.items as i64,
            customers: settings.customers as i64,
        };
        if !(1..=32_767).contains(&sizes.warehouses) {
            return Err("tpcc: --scale is 1 to 32767 warehouses".into());
        }
        if sizes.items < 100 || sizes.customers < 30 {
            return Err("tpcc: at least 100 items and 30 customers".into());
        }
        Ok(Self { sizes, settings: settings.clone() })
    }
}

impl Workload for Tpcc {
    fn kinds(&self) -> Vec<&'static str> {
        KINDS.to_vec()
    }

    fn create(&self) -> Vec<String> {
        schema::create(&self.settings.engine)
    }

    fn chunks(&self) -> Vec<Chunk> {
        load::chunks(self.sizes)
    }

    fn batches(&self, chunk: Chunk) -> Box<dyn Iterator<Item = Batch> + Send + '_> {
        load::batches(self.sizes, self.settings.seed, chunk)
    }

    fn finish(&self) -> Vec<String> {
        schema::finish()
    }

    fn checks(&self) -> Vec<Check> {
        check::checks()
    }

    fn session(&self, number: u64, _connections: u64) -> Session {
        Session::Tpcc(Box::new(Terminal::new(self.sizes, self.settings.seed, number)))
    }

    fn headline(&self) -> Option<(&'static str, usize)> {
        Some(("TpmC", 0))
    }
}
