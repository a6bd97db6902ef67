//! The five transactions of clause 2, statement by statement as tpcc-mysql has them.
//!
//! Invariant: two deliveries never take the same order (the oldest one is read with a lock, where tpcc-mysql reads
//! without), and locks on stock are taken in the order of items, so that new orders cannot deadlock among themselves.
//! Called by `terminal` after BEGIN; each ends with COMMIT or, for the one percent that the specification wants so,
//! with ROLLBACK.

use client::{Result, Value};

use super::terminal::Terminal;
use super::{DISTRICTS, numbers};
use crate::session::{Does, Link};

/// All statements; the constants below are their places.
pub const TEXTS: [&str; 33] = [
    "SELECT c_discount, c_last, c_credit, w_tax FROM customer, warehouse WHERE w_id = ? AND c_w_id = w_id AND c_d_id = ? AND c_id = ?",
    "SELECT d_next_o_id, d_tax FROM district WHERE d_id = ? AND d_w_id = ? FOR UPDATE",
    "UPDATE district SET d_next_o_id = ? + 1 WHERE d_id = ? AND d_w_id = ?",
    "INSERT INTO orders (o_id, o_d_id, o_w_id, o_c_id, o_entry_d, o_ol_cnt, o_all_local) VALUES (?, ?, ?, ?, NOW(), ?, ?)",
    "INSERT INTO new_orders (no_o_id, no_d_id, no_w_id) VALUES (?, ?, ?)",
    "SELECT i_price, i_name, i_data FROM item WHERE i_id = ?",
    "SELECT s_quantity, s_data, s_dist_01, s_dist_02, s_dist_03, s_dist_04, s_dist_05, s_dist_06, s_dist_07, s_dist_08, s_dist_09, s_dist_10 FROM stock WHERE s_i_id = ? AND s_w_id = ? FOR UPDATE",
    "UPDATE stock SET s_quantity = ?, s_ytd = s_ytd + ?, s_order_cnt = s_order_cnt + 1, s_remote_cnt = s_remote_cnt + ? WHERE s_i_id = ? AND s_w_id = ?",
    "INSERT INTO order_line (ol_o_id, ol_d_id, ol_w_id, ol_number, ol_i_id, ol_supply_w_id, ol_quantity, ol_amount, ol_dist_info) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
    "UPDATE warehouse SET w_ytd = w_ytd + ? WHERE w_id = ?",
    "SELECT w_street_1, w_street_2, w_city, w_state, w_zip, w_name FROM warehouse WHERE w_id = ?",
    "UPDATE district SET d_ytd = d_ytd + ? WHERE d_w_id = ? AND d_id = ?",
    "SELECT d_street_1, d_street_2, d_city, d_state, d_zip, d_name FROM district WHERE d_w_id = ? AND d_id = ?",
    "SELECT count(c_id) FROM customer WHERE c_w_id = ? AND c_d_id = ? AND c_last = ?",
    "SELECT c_id FROM customer WHERE c_w_id = ? AND c_d_id = ? AND c_last = ? ORDER BY c_first",
    "SELECT c_first, c_middle, c_last, c_street_1, c_street_2, c_city, c_state, c_zip, c_phone, c_credit, c_credit_lim, c_discount, c_balance, c_since FROM customer WHERE c_w_id = ? AND c_d_id = ? AND c_id = ? FOR UPDATE",
    "SELECT c_data FROM customer WHERE c_w_id = ? AND c_d_id = ? AND c_id = ?",
    "UPDATE customer SET c_balance = c_balance - ?, c_ytd_payment = c_ytd_payment + ?, c_payment_cnt = c_payment_cnt + 1, c_data = ? WHERE c_w_id = ? AND c_d_id = ? AND c_id = ?",
    "UPDATE customer SET c_balance = c_balance - ?, c_ytd_payment = c_ytd_payment + ?, c_payment_cnt = c_payment_cnt + 1 WHERE c_w_id = ? AND c_d_id = ? AND c_id = ?",
    "INSERT INTO history (h_c_d_id, h_c_w_id, h_c_id, h_d_id, h_w_id, h_date, h_amount, h_data) VALUES (?, ?, ?, ?, ?, NOW(), ?, ?)",
    "SELECT c_balance, c_first, c_middle, c_last FROM customer WHERE c_w_id = ? AND c_d_id = ? AND c_last = ? ORDER BY c_first",
    "SELECT c_balance, c_first, c_middle, c_last FROM customer WHERE c_w_id = ? AND c_d_id = ? AND c_id = ?",
    "SELECT o_id, o_entry_d, COALESCE(o_carrier_id, 0) FROM orders WHERE o_w_id = ? AND o_d_id = ? AND o_c_id = ? AND o_id = (SELECT MAX(o_id) FROM orders WHERE o_w_id = ? AND o_d_id = ? AND o_c_id = ?)",
    "SELECT ol_i_id, ol_supply_w_id, ol_quantity, ol_amount, ol_delivery_d FROM order_line WHERE ol_w_id = ? AND ol_d_id = ? AND ol_o_id = ?",
    "SELECT no_o_id FROM new_orders WHERE no_d_id = ? AND no_w_id = ? ORDER BY no_o_id LIMIT 1 FOR UPDATE",
    "DELETE FROM new_orders WHERE no_o_id = ? AND no_d_id = ? AND no_w_id = ?",
    "SELECT o_c_id FROM orders WHERE o_id = ? AND o_d_id = ? AND o_w_id = ? FOR UPDATE",
    "UPDATE orders SET o_carrier_id = ? WHERE o_id = ? AND o_d_id = ? AND o_w_id = ?",
    "UPDATE order_line SET ol_delivery_d = NOW() WHERE ol_o_id = ? AND ol_d_id = ? AND ol_w_id = ?",
    "SELECT SUM(ol_amount) FROM order_line WHERE ol_o_id = ? AND ol_d_id = ? AND ol_w_id = ?",
    "UPDATE customer SET c_balance = c_balance + ?, c_delivery_cnt = c_delivery_cnt + 1 WHERE c_id = ? AND c_d_id = ? AND c_w_id = ?",
    "SELECT d_next_o_id FROM district WHERE d_id = ? AND d_w_id = ?",
    "SELECT COUNT(DISTINCT s_i_id) FROM order_line, stock WHERE ol_w_id = ? AND ol_d_id = ? AND ol_o_id < ? AND ol_o_id >= ? AND s_w_id = ? AND s_i_id = ol_i_id AND s_quantity < ?",
];

const NO_CUSTOMER: usize = 0;
const NO_DISTRICT: usize = 1;
const NO_NEXT: usize = 2;
const NO_ORDER: usize = 3;
const NO_NEW: usize = 4;
const NO_ITEM: usize = 5;
const NO_STOCK: usize = 6;
const NO_STOCK_UPDATE: usize = 7;
const NO_LINE: usize = 8;
const P_WAREHOUSE_UPDATE: usize = 9;
const P_WAREHOUSE: usize = 10;
const P_DISTRICT_UPDATE: usize = 11;
const P_DISTRICT: usize = 12;
const COUNT_BY_NAME: usize = 13;
const P_BY_NAME: usize = 14;
const P_CUSTOMER: usize = 15;
const P_DATA: usize = 16;
const P_BAD_CREDIT: usize = 17;
const P_GOOD_CREDIT: usize = 18;
const P_HISTORY: usize = 19;
const O_BY_NAME: usize = 20;
const O_CUSTOMER: usize = 21;
const O_ORDER: usize = 22;
const O_LINES: usize = 23;
const D_OLDEST: usize = 24;
const D_DELETE: usize = 25;
const D_CUSTOMER: usize = 26;
const D_CARRIER: usize = 27;
const D_LINES: usize = 28;
const D_SUM: usize = 29;
const D_BALANCE: usize = 30;
const S_DISTRICT: usize = 31;
const S_COUNT: usize = 32;

use Does::{Read, Write};
use Value::{Hundredths, Int, Text};

impl Terminal {
    async fn ask(&mut self, link: &mut Link<'_>, statement: usize, values: &[Value<'_>]) -> Result<()> {
        link.ask(Read, &mut self.sql[statement], values, &mut self.answer).await
    }

    async fn change(&mut self, link: &mut Link<'_>, statement: usize, values: &[Value<'_>]) -> Result<()> {
        link.put(Write, &mut self.sql[statement], values).await
    }

    /// A value of the first row of the last answer, in hundredths.
    fn hundredths(&self, column: usize) -> i64 {
        (self.answer.cell(0, column).float() * 100.0).round() as i64
    }

    fn home(&mut self) -> (i64, i64) {
        (self.random.between(1, self.sizes.warehouses), self.random.between(1, DISTRICTS))
    }

    fn other_warehouse(&mut self, home: i64) -> i64 {
        let other = self.random.between(1, self.sizes.warehouses - 1);
        if other >= home { other + 1 } else { other }
    }

    pub(super) async fn new_order(&mut self, link: &mut Link<'_>) -> Result<()> {
        let (w, d) = self.home();
        let customer = numbers::customer(&mut self.random, self.sizes.customers);
        let count = self.random.between(5, 15);
        let is_wrong = self.random.happens(0.01);
        let mut lines = Vec::with_capacity(15);
        for line in 1..=count {
            let item = numbers::item(&mut self.random, self.sizes.items);
            let is_remote = self.sizes.warehouses > 1 && self.random.happens(0.01);
            let supplier = if is_remote { self.other_warehouse(w) } else { w };
            let item = if is_wrong && line == count { self.sizes.items + 1 } else { item };
            lines.push((item, supplier, self.random.between(1, 10)));
        }
        lines.sort_unstable();
        let is_local = lines.iter().all(|(_, supplier, _)| *supplier == w);
        self.ask(link, NO_CUSTOMER, &[Int(w), Int(d), Int(customer)]).await?;
        self.ask(link, NO_DISTRICT, &[Int(d), Int(w)]).await?;
        let order = self.answer.cell(0, 0).int();
        self.change(link, NO_NEXT, &[Int(order), Int(d), Int(w)]).await?;
        let values = [Int(order), Int(d), Int(w), Int(customer), Int(count), Int(i64::from(is_local))];
        self.change(link, NO_ORDER, &values).await?;
        self.change(link, NO_NEW, &[Int(order), Int(d), Int(w)]).await?;
        for (place, &(item, supplier, quantity)) in lines.iter().enumerate() {
            self.ask(link, NO_ITEM, &[Int(item)]).await?;
            if self.answer.rows() == 0 {
                // An item that does not exist: this is how one of a hundred new orders ends.
                link.put(Does::Other, &mut self.borders.rollback, &[]).await?;
                return link.drain().await;
            }
            let price = self.hundredths(0);
            self.ask(link, NO_STOCK, &[Int(item), Int(supplier)]).await?;
            let stock = self.answer.cell(0, 0).int();
            let info = self.answer.cell(0, 1 + d as usize).text();
            let left = if stock >= quantity + 10 { stock - quantity } else { stock - quantity + 91 };
            let remote = i64::from(supplier != w);
            let values = [Int(left), Int(quantity), Int(remote), Int(item), Int(supplier)];
            self.change(link, NO_STOCK_UPDATE, &values).await?;
            let amount = Hundredths(quantity * price);
            let (line, quantity) = (Int(place as i64 + 1), Int(quantity));
            let values =
                [Int(order), Int(d), Int(w), line, Int(item), Int(supplier), quantity, amount, Text(&info)];
            self.change(link, NO_LINE, &values).await?;
        }
        link.commit(&mut self.borders.commit).await
    }

    pub(super) async fn payment(&mut self, link: &mut Link<'_>) -> Result<()> {
        let (w, d) = self.home();
        let amount = self.random.between(100, 500_000);
        let is_remote = self.sizes.warehouses > 1 && self.random.happens(0.15);
        let (c_w, c_d) =
            if is_remote { (self.other_warehouse(w), self.random.between(1, DISTRICTS)) } else { (w, d) };
        self.change(link, P_WAREHOUSE_UPDATE, &[Hundredths(amount), Int(w)]).await?;
        self.ask(link, P_WAREHOUSE, &[Int(w)]).await?;
        let mut data = self.answer.cell(0, 5).text();
        self.change(link, P_DISTRICT_UPDATE, &[Hundredths(amount), Int(w), Int(d)]).await?;
        self.ask(link, P_DISTRICT, &[Int(w), Int(d)]).await?;
        data = format!("{data:.10}    {:.10}", self.answer.cell(0, 5).text());
        let customer = self.pick_customer(link, P_BY_NAME, c_w, c_d).await?;
        self.ask(link, P_CUSTOMER, &[Int(c_w), Int(c_d), Int(customer)]).await?;
        let place = [Int(c_w), Int(c_d), Int(customer)];
        let paid = Hundredths(amount);
        if self.answer.cell(0, 9).text() == "BC" {
            self.ask(link, P_DATA, &place).await?;
            let old = self.answer.cell(0, 0).text();
            let mut new =
                format!("{customer} {c_d} {c_w} {d} {w} {}.{:02} | {old}", amount / 100, amount % 100);
            new.truncate(500);
            self.change(link, P_BAD_CREDIT, &[paid, paid, Text(&new), place[0], place[1], place[2]]).await?;
        } else {
            self.change(link, P_GOOD_CREDIT, &[paid, paid, place[0], place[1], place[2]]).await?;
        }
        let values = [Int(c_d), Int(c_w), Int(customer), Int(d), Int(w), paid, Text(&data)];
        self.change(link, P_HISTORY, &values).await?;
        link.commit(&mut self.borders.commit).await
    }

    /// By last name in six of ten, the one in the middle of those with that name; else by number.
    async fn pick_customer(&mut self, link: &mut Link<'_>, by_name: usize, w: i64, d: i64) -> Result<i64> {
        if !self.random.happens(0.6) {
            return Ok(numbers::customer(&mut self.random, self.sizes.customers));
        }
        let name = numbers::asked_name(&mut self.random, self.sizes.customers);
        let values = [Int(w), Int(d), Text(&name)];
        self.ask(link, COUNT_BY_NAME, &values).await?;
        if by_name == O_BY_NAME {
            self.ask(link, O_BY_NAME, &values).await?;
        }
        self.ask(link, P_BY_NAME, &values).await?;
        let middle = self.answer.rows().div_ceil(2).saturating_sub(1);
        Ok(self.answer.cell(middle, 0).int())
    }

    pub(super) async fn order_status(&mut self, link: &mut Link<'_>) -> Result<()> {
        let (w, d) = self.home();
        let customer = self.pick_customer(link, O_BY_NAME, w, d).await?;
        let place = [Int(w), Int(d), Int(customer)];
        self.ask(link, O_CUSTOMER, &place).await?;
        self.ask(link, O_ORDER, &[place[0], place[1], place[2], place[0], place[1], place[2]]).await?;
        let order = self.answer.cell(0, 0).int();
        self.ask(link, O_LINES, &[Int(w), Int(d), Int(order)]).await?;
        link.commit(&mut self.borders.commit).await
    }

    pub(super) async fn delivery(&mut self, link: &mut Link<'_>) -> Result<()> {
        let w = self.random.between(1, self.sizes.warehouses);
        let carrier = self.random.between(1, 10);
        for d in 1..=DISTRICTS {
            self.ask(link, D_OLDEST, &[Int(d), Int(w)]).await?;
            let order = self.answer.cell(0, 0).int();
            if order == 0 {
                continue;
            }
            let place = [Int(order), Int(d), Int(w)];
            self.change(link, D_DELETE, &place).await?;
            self.ask(link, D_CUSTOMER, &place).await?;
            let customer = self.answer.cell(0, 0).int();
            self.change(link, D_CARRIER, &[Int(carrier), place[0], place[1], place[2]]).await?;
            self.change(link, D_LINES, &place).await?;
            self.ask(link, D_SUM, &place).await?;
            let total = Hundredths(self.hundredths(0));
            self.change(link, D_BALANCE, &[total, Int(customer), Int(d), Int(w)]).await?;
        }
        link.commit(&mut self.borders.commit).await
    }

    pub(super) async fn stock_level(&mut self, link: &mut Link<'_>) -> Result<()> {
        let (w, d) = self.home();
        let level = self.random.between(10, 20);
        self.ask(link, S_DISTRICT, &[Int(d), Int(w)]).await?;
        let next = self.answer.cell(0, 0).int();
        let values = [Int(w), Int(d), Int(next), Int(next - 20), Int(w), Int(level)];
        self.ask(link, S_COUNT, &values).await?;
        link.commit(&mut self.borders.commit).await
    }
}
