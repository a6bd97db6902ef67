//! The consistency conditions of clause 3.3.2, each a query that finds the rows which break it.
//!
//! Invariant: on data of the load, before and after any number of transactions, every query finds nothing.

use crate::Check;

pub fn checks() -> Vec<Check> {
    let check = |number: u32, text: &str, sql: &str| Check {
        name: format!("3.3.2.{number} {text}"),
        sql: sql.split_whitespace().collect::<Vec<_>>().join(" "),
    };
    vec![
        check(1, "w_ytd = sum(d_ytd)", "
            SELECT w_id, w_ytd, s FROM warehouse JOIN (SELECT d_w_id, SUM(d_ytd) s FROM district GROUP BY d_w_id) d
            ON d_w_id = w_id WHERE w_ytd <> s"),
        check(2, "d_next_o_id - 1 = max(o_id)", "
            SELECT d_w_id, d_id, d_next_o_id, m FROM district JOIN
            (SELECT o_w_id, o_d_id, MAX(o_id) m FROM orders GROUP BY o_w_id, o_d_id) o
            ON o_w_id = d_w_id AND o_d_id = d_id WHERE d_next_o_id - 1 <> m"),
        check(2, "d_next_o_id - 1 = max(no_o_id)", "
            SELECT d_w_id, d_id, d_next_o_id, m FROM district JOIN
            (SELECT no_w_id, no_d_id, MAX(no_o_id) m FROM new_orders GROUP BY no_w_id, no_d_id) n
            ON no_w_id = d_w_id AND no_d_id = d_id WHERE d_next_o_id - 1 <> m"),
        check(3, "new_orders have no gaps", "
            SELECT no_w_id, no_d_id FROM new_orders GROUP BY no_w_id, no_d_id
            HAVING MAX(no_o_id) - MIN(no_o_id) + 1 <> COUNT(*)"),
        check(4, "sum(o_ol_cnt) = lines of the district", "
            SELECT o_w_id, o_d_id, s, n FROM
            (SELECT o_w_id, o_d_id, SUM(o_ol_cnt) s FROM orders GROUP BY o_w_id, o_d_id) o JOIN
            (SELECT ol_w_id, ol_d_id, COUNT(*) n FROM order_line GROUP BY ol_w_id, ol_d_id) l
            ON ol_w_id = o_w_id AND ol_d_id = o_d_id WHERE s <> n"),
        check(5, "no carrier if and only if in new_orders", "
            SELECT o_w_id, o_d_id, o_id FROM orders LEFT JOIN new_orders
            ON no_w_id = o_w_id AND no_d_id = o_d_id AND no_o_id = o_id
            WHERE (o_carrier_id IS NULL AND no_o_id IS NULL) OR (o_carrier_id IS NOT NULL AND no_o_id IS NOT NULL)
            LIMIT 10"),
        check(6, "o_ol_cnt = lines of the order", "
            SELECT o_w_id, o_d_id, o_id, o_ol_cnt, n FROM orders JOIN
            (SELECT ol_w_id, ol_d_id, ol_o_id, COUNT(*) n FROM order_line GROUP BY ol_w_id, ol_d_id, ol_o_id) l
            ON ol_w_id = o_w_id AND ol_d_id = o_d_id AND ol_o_id = o_id WHERE o_ol_cnt <> n LIMIT 10"),
        check(7, "not delivered if and only if no carrier", "
            SELECT o_w_id, o_d_id, o_id FROM orders JOIN order_line
            ON ol_w_id = o_w_id AND ol_d_id = o_d_id AND ol_o_id = o_id
            WHERE (o_carrier_id IS NULL AND ol_delivery_d IS NOT NULL)
            OR (o_carrier_id IS NOT NULL AND ol_delivery_d IS NULL) LIMIT 10"),
        check(8, "w_ytd = sum(h_amount)", "
            SELECT w_id, w_ytd, s FROM warehouse JOIN (SELECT h_w_id, SUM(h_amount) s FROM history GROUP BY h_w_id) h
            ON h_w_id = w_id WHERE w_ytd <> s"),
        check(9, "d_ytd = sum(h_amount)", "
            SELECT d_w_id, d_id, d_ytd, s FROM district JOIN
            (SELECT h_w_id, h_d_id, SUM(h_amount) s FROM history GROUP BY h_w_id, h_d_id) h
            ON h_w_id = d_w_id AND h_d_id = d_id WHERE d_ytd <> s"),
        check(12, "c_balance + c_ytd_payment = sum(delivered ol_amount)", "
            SELECT c_w_id, c_d_id, c_id, c_balance, c_ytd_payment, s FROM customer JOIN
            (SELECT o_w_id, o_d_id, o_c_id, SUM(ol_amount) s FROM orders JOIN order_line
            ON ol_w_id = o_w_id AND ol_d_id = o_d_id AND ol_o_id = o_id WHERE ol_delivery_d IS NOT NULL
            GROUP BY o_w_id, o_d_id, o_c_id) l ON o_w_id = c_w_id AND o_d_id = c_d_id AND o_c_id = c_id
            WHERE c_balance + c_ytd_payment <> s LIMIT 10"),
    ]
}
