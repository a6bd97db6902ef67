//! tpcc-mysql's nine tables, and the indexes and foreign keys of its add_fkey_idx.sql.
//!
//! Invariant: names and types are tpcc-mysql's, so that either program can run on what the other has loaded.

const TABLES: [&str; 9] =
    ["order_line", "new_orders", "orders", "history", "customer", "district", "stock", "item", "warehouse"];

pub fn create(engine: &str) -> Vec<String> {
    let mut statements: Vec<String> =
        TABLES.iter().map(|table| format!("DROP TABLE IF EXISTS {table}")).collect();
    let address = |p: &str| {
        format!(
            "{p}_street_1 varchar(20), {p}_street_2 varchar(20), {p}_city varchar(20), {p}_state char(2), \
             {p}_zip char(9)"
        )
    };
    let dists: String = (1..=10).map(|number| format!("s_dist_{number:02} char(24), ")).collect();
    let tables = [
        format!(
            "warehouse (w_id smallint not null, w_name varchar(10), {}, w_tax decimal(4,2), w_ytd decimal(12,2), \
             primary key (w_id))",
            address("w")
        ),
        format!(
            "district (d_id tinyint not null, d_w_id smallint not null, d_name varchar(10), {}, d_tax decimal(4,2), \
             d_ytd decimal(12,2), d_next_o_id int, primary key (d_w_id, d_id))",
            address("d")
        ),
        format!(
            "customer (c_id int not null, c_d_id tinyint not null, c_w_id smallint not null, c_first varchar(16), \
             c_middle char(2), c_last varchar(16), {}, c_phone char(16), c_since datetime, c_credit char(2), \
             c_credit_lim bigint, c_discount decimal(4,2), c_balance decimal(12,2), c_ytd_payment decimal(12,2), \
             c_payment_cnt smallint, c_delivery_cnt smallint, c_data text, primary key (c_w_id, c_d_id, c_id))",
            address("c")
        ),
        "history (h_c_id int, h_c_d_id tinyint, h_c_w_id smallint, h_d_id tinyint, h_w_id smallint, h_date datetime, \
         h_amount decimal(6,2), h_data varchar(24))"
            .into(),
        "new_orders (no_o_id int not null, no_d_id tinyint not null, no_w_id smallint not null, \
         primary key (no_w_id, no_d_id, no_o_id))"
            .into(),
        "orders (o_id int not null, o_d_id tinyint not null, o_w_id smallint not null, o_c_id int, \
         o_entry_d datetime, o_carrier_id tinyint, o_ol_cnt tinyint, o_all_local tinyint, \
         primary key (o_w_id, o_d_id, o_id))"
            .into(),
        "order_line (ol_o_id int not null, ol_d_id tinyint not null, ol_w_id smallint not null, \
         ol_number tinyint not null, ol_i_id int, ol_supply_w_id smallint, ol_delivery_d datetime, \
         ol_quantity tinyint, ol_amount decimal(6,2), ol_dist_info char(24), \
         primary key (ol_w_id, ol_d_id, ol_o_id, ol_number))"
            .into(),
        "item (i_id int not null, i_im_id int, i_name varchar(24), i_price decimal(5,2), i_data varchar(50), \
         primary key (i_id))"
            .into(),
        format!(
            "stock (s_i_id int not null, s_w_id smallint not null, s_quantity smallint, {dists}\
             s_ytd decimal(8,0), s_order_cnt smallint, s_remote_cnt smallint, s_data varchar(50), \
             primary key (s_w_id, s_i_id))"
        ),
    ];
    statements.extend(tables.iter().map(|table| format!("CREATE TABLE {table} {engine}")));
    statements
}

pub fn finish() -> Vec<String> {
    let keys = [
        ("district", "fkey_district_1", "d_w_id", "warehouse(w_id)"),
        ("customer", "fkey_customer_1", "c_w_id,c_d_id", "district(d_w_id,d_id)"),
        ("history", "fkey_history_1", "h_c_w_id,h_c_d_id,h_c_id", "customer(c_w_id,c_d_id,c_id)"),
        ("history", "fkey_history_2", "h_w_id,h_d_id", "district(d_w_id,d_id)"),
        ("new_orders", "fkey_new_orders_1", "no_w_id,no_d_id,no_o_id", "orders(o_w_id,o_d_id,o_id)"),
        ("orders", "fkey_orders_1", "o_w_id,o_d_id,o_c_id", "customer(c_w_id,c_d_id,c_id)"),
        ("order_line", "fkey_order_line_1", "ol_w_id,ol_d_id,ol_o_id", "orders(o_w_id,o_d_id,o_id)"),
        ("order_line", "fkey_order_line_2", "ol_supply_w_id,ol_i_id", "stock(s_w_id,s_i_id)"),
        ("stock", "fkey_stock_1", "s_w_id", "warehouse(w_id)"),
        ("stock", "fkey_stock_2", "s_i_id", "item(i_id)"),
    ];
    let mut statements = vec![
        "CREATE INDEX idx_customer ON customer (c_w_id,c_d_id,c_last,c_first)".to_owned(),
        "CREATE INDEX idx_orders ON orders (o_w_id,o_d_id,o_c_id,o_id)".to_owned(),
        "CREATE INDEX fkey_stock_2 ON stock (s_i_id)".to_owned(),
        "CREATE INDEX fkey_order_line_2 ON order_line (ol_supply_w_id,ol_i_id)".to_owned(),
    ];
    statements.extend(keys.iter().map(|(table, name, columns, parent)| {
        format!("ALTER TABLE {table} ADD CONSTRAINT {name} FOREIGN KEY ({columns}) REFERENCES {parent}")
    }));
    statements
}
