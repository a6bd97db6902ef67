"""What is done in phpMyAdmin: a shop is made, changed, exported, imported and dropped by its pages and forms."""

import html
import re
import time
import urllib.parse
import uuid

from phpmyadmin_browser import DATABASE, Failed, Visit


class Tour(Visit):
    """All pages, in the order in which they need each other."""

    def everything(self):
        for _ in range(100):
            try:
                self.fetch("/")
                break
            except (OSError, Failed):
                time.sleep(0.1)
        login = [("pma_username", "root"), ("pma_password", ""), ("target", "index.php")]
        self.step("log in", "/", "Database server", "Server version", fields=login)
        self.server_pages()
        self.databases()
        self.tables()
        self.rows()
        self.programs()
        self.export_and_import()
        self.users()
        self.sql("drop tables", "DROP TABLE sales, item")
        drop = [("ajax_request", "1"), ("selected_dbs[]", DATABASE), ("selected_dbs[]", DATABASE + "_copy")]
        self.step("drop databases", "/server/databases/destroy", fields=drop)
        self.step("log out", "/logout", "Log in", fields=[], alerts=False)
        self.log.close()
        return self.outcomes

    def server_pages(self):
        shows = {
            "databases": "information_schema",
            "collations": "utf8mb4_0900_ai_ci",
            "engines": "InnoDB",
            "privileges": "root",
        }
        pages = "databases sql status status/processes status/queries status/variables status/monitor"
        pages += " privileges export import"
        for page in (pages + " variables collations engines plugins replication").split():
            self.step(f"server page {page}", f"/server/{page}", *([shows[page]] if page in shows else []))
        self.step("engine InnoDB", "/server/engines/InnoDB")
        self.step("navigation", "/navigation?ajax_request=1", fields=[("ajax_request", "1")])
        edit = [("ajax_request", "1"), ("varValue", "12")]
        self.step("change a variable", "/server/variables/set/long_query_time", "12", fields=edit)
        self.step(
            "processes refreshed", "/server/status/processes/refresh", fields=[("ajax_request", "1"), ("full", "1")]
        )

    def databases(self):
        make = [("ajax_request", "1"), ("new_db", DATABASE), ("db_collation", "utf8mb4_0900_ai_ci")]
        self.step("create database", "/server/databases/create", fields=make)
        self.step(
            "create database of copies",
            "/server/databases/create",
            fields=[("ajax_request", "1"), ("new_db", DATABASE + "_copy")],
        )
        pages = "structure sql search import operations routines events triggers designer multi-table-query"
        for page in (pages + " central-columns").split():
            self.step(f"empty database page {page}", f"/database/{page}?db={DATABASE}")

    def tables(self):
        columns = [
            ("id", "INT", "", "AUTO_INCREMENT", "NONE"),
            ("name", "VARCHAR", "40", "", "NONE"),
            ("price", "DECIMAL", "10,2", "", "USER_DEFINED"),
            ("added", "TIMESTAMP", "", "", "CURRENT_TIMESTAMP"),
            ("note", "TEXT", "", "", "NULL"),
        ]
        form = [
            ("ajax_request", "1"),
            ("db", DATABASE),
            ("table", "item"),
            ("do_save_data", "1"),
            ("tbl_storage_engine", "INNODB"),
        ]
        form += [("orig_num_fields", str(len(columns))), ("num_fields", str(len(columns))), ("comment", "what is sold")]
        for number, (name, kind, length, extra, default) in enumerate(columns):
            form += [
                (f"field_name[{number}]", name),
                (f"field_type[{number}]", kind),
                (f"field_length[{number}]", length),
            ]
            form += [
                (f"field_default_type[{number}]", default),
                (f"field_default_value[{number}]", "1.50" if default == "USER_DEFINED" else ""),
            ]
            form += [
                (f"field_extra[{number}]", extra),
                (f"field_key[{number}]", "primary_0" if number == 0 else "none_0"),
            ]
            form += [
                (f"field_collation[{number}]", ""),
                (f"field_attribute[{number}]", ""),
                (f"field_comments[{number}]", ""),
            ]
            form += [(f"field_null[{number}]", "YES")] if default == "NULL" else []
        form += [
            (
                "primary_indexes",
                '[{"Key_name":"PRIMARY","Index_choice":"PRIMARY","Key_block_size":"","Parser":"","Index_type":"","Index_comment":"","columns":[{"col_index":"0","size":""}]}]',
            )
        ]
        form += [(kind, "[]") for kind in ["unique_indexes", "indexes", "fulltext_indexes", "spatial_indexes"]]
        self.step("create table", "/table/create", fields=form)
        at = f"db={DATABASE}&table=item"
        self.step("table structure", f"/table/structure?{at}", "AUTO_INCREMENT", "price")
        add = [
            ("ajax_request", "1"),
            ("db", DATABASE),
            ("table", "item"),
            ("do_save_data", "1"),
            ("num_fields", "1"),
            ("orig_num_fields", "1"),
        ]
        add += [
            ("field_where", "after"),
            ("after_field", "name"),
            ("field_name[0]", "stock"),
            ("field_type[0]", "INT"),
            ("field_length[0]", ""),
        ]
        add += [
            ("field_default_type[0]", "USER_DEFINED"),
            ("field_default_value[0]", "7"),
            ("field_key[0]", "none_0"),
            ("field_extra[0]", ""),
        ]
        add += [("field_collation[0]", ""), ("field_attribute[0]", "UNSIGNED"), ("field_comments[0]", "on the shelf")]
        kinds = ["primary_indexes", "unique_indexes", "indexes", "fulltext_indexes", "spatial_indexes"]
        add += [(kind, "[]") for kind in kinds]
        self.step("add a column", "/table/add-field", fields=add)
        self.step("form of a column", f"/table/structure/change?{at}&field=name&change_column=1", "name")
        save = [
            ("ajax_request", "1"),
            ("db", DATABASE),
            ("table", "item"),
            ("do_save_data", "1"),
            ("field_orig[0]", "name"),
        ]
        save += [
            ("field_name[0]", "title"),
            ("field_type[0]", "VARCHAR"),
            ("field_type_orig[0]", "VARCHAR"),
            ("field_length[0]", "60"),
            ("field_length_orig[0]", "40"),
        ]
        for part, old, new in [
            ("default_type", "NONE", "NONE"),
            ("default_value", "", ""),
            ("collation", "", "utf8mb4_bin"),
            ("attribute", "", ""),
            ("comments", "", ""),
        ]:
            save += [(f"field_{part}[0]", new), (f"field_{part}_orig[0]", old)]
        save += [
            ("field_extra[0]", ""),
            ("field_extra_orig[0]", ""),
            ("field_null_orig[0]", "NO"),
            ("field_move_to[0]", ""),
            ("field_move_to_orig[0]", ""),
        ]
        self.step("change a column", "/table/structure/save", fields=save)
        index = [
            ("ajax_request", "1"),
            ("db", DATABASE),
            ("table", "item"),
            ("do_save_data", "1"),
            ("index[Key_name]", "by_title"),
        ]
        index += [
            ("index[Index_choice]", "UNIQUE"),
            ("index[Index_type]", "BTREE"),
            ("index[columns][names][]", "title"),
            ("index[columns][sub_parts][]", "20"),
        ]
        self.step("add an index", "/table/indexes", fields=index)
        self.step("structure with index", f"/table/structure?{at}", "by_title", "utf8mb4_bin")
        self.sql(
            "second table", "CREATE TABLE sale (id INT PRIMARY KEY AUTO_INCREMENT, item_id INT, n INT, KEY (item_id))"
        )
        relation = [
            ("ajax_request", "1"),
            ("db", DATABASE),
            ("table", "sale"),
            ("foreign_key_fields_name[0][0]", "item_id"),
            ("constraint_name[0]", "sold"),
        ]
        relation += [
            ("destination_foreign_db[0]", DATABASE),
            ("destination_foreign_table[0]", "item"),
            ("destination_foreign_column[0][0]", "id"),
        ]
        relation += [("on_delete[0]", "CASCADE"), ("on_update[0]", "CASCADE")]
        self.step("add a foreign key", f"/table/relation?db={DATABASE}&table=sale", fields=relation)
        self.step("relations", f"/table/relation?db={DATABASE}&table=sale", "sold")
        pages = "sql search zoom-search find-replace export import operations tracking triggers relation indexes"
        for page in pages.split():
            self.step(f"table page {page}", f"/table/{page}?{at}")
        for what in "analyze check checksum optimize repair".split():
            self.step(
                f"{what} table",
                f"/table/maintenance/{what}",
                fields=[("ajax_request", "1"), ("db", DATABASE), ("table", "item"), ("selected_tbl[]", "item")],
            )

    def rows(self):
        for number, title in [(1, "apple"), (2, "pear's <b>"), (3, "Zoë")]:
            form = [("db", DATABASE), ("table", "item"), ("submit_type", "insert"), ("goto", "index.php?route=/sql")]
            for place, (name, kind, value) in enumerate(
                [
                    ("title", "varchar", title),
                    ("stock", "int", str(number)),
                    ("price", "decimal", "2.50"),
                    ("note", "text", "x" * number),
                ]
            ):
                key = place
                form += [
                    (f"fields_name[multi_edit][0][{key}]", name),
                    (f"fields_type[multi_edit][0][{key}]", kind),
                    (f"fields[multi_edit][0][{key}]", value),
                ]
            self.step(f"insert row {number}", "/table/replace", fields=form)
        at = f"db={DATABASE}&table=item"
        page = self.step("browse", f"/sql?{at}&pos=0", "apple", "pear's", "Zoë")
        self.step(
            "browse sorted",
            f"/sql?{at}&sql_query=" + urllib.parse.quote("SELECT * FROM `item` ORDER BY `item`.`title` DESC"),
            "apple",
        )
        signed = re.search(r"where_clause_signature=([0-9a-f]+)", page)
        clause = f"&where_clause={urllib.parse.quote('`item`.`id` = 1')}&default_action=update"
        clause += f"&where_clause_signature={signed.group(1) if signed else ''}"
        self.step("form of a row", f"/table/change?{at}{clause}", "title")
        edit = [("db", DATABASE), ("table", "item"), ("submit_type", "save"), ("goto", "index.php?route=/sql")]
        edit += [
            ("where_clause[0]", "`item`.`id` = 1"),
            ("fields_name[multi_edit][0][0]", "title"),
            ("fields_type[multi_edit][0][0]", "varchar"),
        ]
        edit += [("fields[multi_edit][0][0]", "apricot"), ("fields_prev[multi_edit][0][0]", "apple")]
        self.step("change a row", "/table/replace", fields=edit)
        self.sql("query box", "SELECT title, stock * price AS worth FROM item WHERE id = 1", "apricot", "2.5")
        self.sql(
            "several statements",
            "INSERT INTO sale (item_id, n) SELECT id, stock + 1 FROM item WHERE stock < 3; UPDATE sale SET n = n + 1; SELECT SUM(n) FROM sale",
            "7",
        )
        self.sql("explain", "EXPLAIN SELECT * FROM item JOIN sale ON sale.item_id = item.id", "sale")
        search = [
            ("ajax_request", "1"),
            ("db", DATABASE),
            ("criteriaSearchString", "apricot"),
            ("criteriaSearchType", "1"),
            ("criteriaTables[]", "item"),
            ("submit_search", "Go"),
        ]
        self.step("search the database", "/database/search", "1", fields=search)
        self.step("real count", f"/database/structure/real-row-count?{at}&ajax_request=1", "3")
        self.step("database structure", f"/database/structure?db={DATABASE}", "item", "sale")
        self.step("data dictionary", f"/database/data-dictionary?db={DATABASE}", "on the shelf")
        self.step("designer", f"/database/designer?db={DATABASE}", "sale")
        copy = [
            ("ajax_request", "1"),
            ("db", DATABASE),
            ("table", "item"),
            ("submit_copy", "1"),
            ("new_name", "item2"),
            ("target_db", DATABASE + "_copy"),
            ("what", "data"),
        ]
        self.step("copy a table", "/table/operations", fields=copy)
        rename = [
            ("ajax_request", "1"),
            ("db", DATABASE),
            ("table", "sale"),
            ("submitoptions", "1"),
            ("new_name", "sales"),
            ("comment", "sold"),
            ("prev_comment", ""),
            ("new_tbl_storage_engine", "INNODB"),
            ("tbl_collation", "utf8mb4_0900_ai_ci"),
        ]
        self.step("options of a table", "/table/operations", fields=rename)
        self.sql("view", "CREATE VIEW cheap AS SELECT id, title FROM item WHERE price < 10")
        self.step("browse a view", f"/sql?db={DATABASE}&table=cheap&pos=0", "apricot")
        self.step("structure of a view", f"/table/structure?db={DATABASE}&table=cheap", "title")

    def programs(self):
        routine = [
            ("ajax_request", "1"),
            ("db", DATABASE),
            ("editor_process_add", "1"),
            ("item_name", "twice"),
            ("item_type", "FUNCTION"),
            ("item_returntype", "INT"),
        ]
        routine += [
            ("item_returnlength", ""),
            ("item_returnopts_num", ""),
            ("item_returnopts_text", ""),
            ("item_param_name[0]", "x"),
            ("item_param_type[0]", "INT"),
        ]
        routine += [
            ("item_param_length[0]", ""),
            ("item_param_opts_num[0]", ""),
            ("item_param_opts_text[0]", ""),
            ("item_definition", "RETURN x * 2"),
            ("item_isdeterministic", "on"),
        ]
        routine += [
            ("item_definer", ""),
            ("item_securitytype", "DEFINER"),
            ("item_sqldataaccess", "NO SQL"),
            ("item_comment", "doubles"),
        ]
        self.step("create a function", "/database/routines", fields=routine)
        self.step("routines", f"/database/routines?db={DATABASE}", "twice")
        self.step(
            "form of a routine",
            f"/database/routines?db={DATABASE}&item_name=twice&item_type=FUNCTION&edit_item=1&ajax_request=1",
            "RETURN x * 2",
        )
        run = [
            ("ajax_request", "1"),
            ("db", DATABASE),
            ("item_name", "twice"),
            ("item_type", "FUNCTION"),
            ("execute_routine", "1"),
            ("params[x]", "21"),
            ("funcs[x]", ""),
        ]
        self.step("run a function", "/database/routines", "42", fields=run)
        trigger = [
            ("ajax_request", "1"),
            ("db", DATABASE),
            ("table", "item"),
            ("editor_process_add", "1"),
            ("item_name", "before_item"),
            ("item_table", "item"),
        ]
        trigger += [
            ("item_timing", "BEFORE"),
            ("item_event", "INSERT"),
            ("item_definition", "SET NEW.stock = twice(NEW.stock)"),
            ("item_definer", ""),
        ]
        self.step("create a trigger", "/database/triggers", fields=trigger)
        self.step("triggers", f"/database/triggers?db={DATABASE}", "before_item")
        self.sql("trigger fires", "INSERT INTO item (title, stock) VALUES ('fig', 21)")
        self.sql("what the trigger did", "SELECT stock FROM item WHERE title = 'fig'", "42")
        event = [
            ("ajax_request", "1"),
            ("db", DATABASE),
            ("editor_process_add", "1"),
            ("item_name", "nightly"),
            ("item_type", "RECURRING"),
            ("item_status", "ENABLED"),
        ]
        event += [
            ("item_interval_value", "1"),
            ("item_interval_field", "DAY"),
            ("item_definition", "DELETE FROM item WHERE stock = 0"),
            ("item_definer", ""),
            ("item_comment", ""),
        ]
        event += [("item_starts", ""), ("item_ends", ""), ("item_execute_at", "")]
        self.step("create an event", "/database/events", fields=event)
        self.step("events", f"/database/events?db={DATABASE}", "nightly")

    def export_and_import(self):
        form = [
            ("db", DATABASE),
            ("export_type", "database"),
            ("export_method", "quick"),
            ("quick_or_custom", "custom"),
            ("what", "sql"),
            ("structure_or_data_forced", "0"),
        ]
        form += [("table_select[]", name) for name in ["item", "sales", "cheap"]] + [
            ("table_structure[]", name) for name in ["item", "sales", "cheap"]
        ]
        form += [("table_data[]", name) for name in ["item", "sales"]] + [
            ("output_format", "astext"),
            ("asfile", "sendit"),
            ("compression", "none"),
            ("charset", "utf-8"),
        ]
        form += [
            ("sql_structure_or_data", "structure_and_data"),
            ("sql_create_table", "1"),
            ("sql_create_view", "1"),
            ("sql_if_not_exists", "0"),
            ("sql_auto_increment", "1"),
        ]
        form += [
            ("sql_create_trigger", "1"),
            ("sql_procedure_function", "1"),
            ("sql_backquotes", "1"),
            ("sql_type", "INSERT"),
            ("sql_insert_syntax", "both"),
            ("sql_max_query_size", "50000"),
        ]
        form += [
            ("sql_relation", "1"),
            ("sql_hex_for_binary", "1"),
            ("sql_utc_time", "1"),
            ("sql_drop_table", "1"),
            ("maxsize", ""),
            ("aliases", ""),
            ("filename_template", "@DATABASE@"),
            ("remember_template", "on"),
        ]
        text = self.step("export", "/export", "CREATE TABLE", "apricot", "before_item", "twice", fields=form)
        dump = text.replace("&nbsp;", " ")
        area = re.search(r"<textarea[^>]*>(.*?)</textarea>", dump, re.S)
        if area:
            dump = html.unescape(area.group(1))
        sent = [
            ("db", DATABASE + "_copy"),
            ("import_type", "database"),
            ("format", "sql"),
            ("charset_of_file", "utf-8"),
            ("sql_compatibility", "NONE"),
            ("sql_no_auto_value_on_zero", "something"),
            ("ajax_request", "1"),
            ("noplugin", uuid.uuid4().hex),
        ]
        self.step("import", "/import", fields=sent, parts=[("import_file", "dump.sql", dump)])
        self.sql(
            "import is whole",
            "SELECT CONCAT('sum', SUM(n)) s, (SELECT CONCAT('title', MIN(title)) FROM cheap) t FROM sales",
            "sum7",
            "titleZo",
            database=DATABASE + "_copy",
        )
        rows = [
            ("db", DATABASE + "_copy"),
            ("table", "sales"),
            ("import_type", "table"),
            ("format", "csv"),
            ("charset_of_file", "utf-8"),
            ("ajax_request", "1"),
            ("noplugin", uuid.uuid4().hex),
        ]
        rows += [
            ("csv_terminated", ","),
            ("csv_enclosed", '"'),
            ("csv_escaped", '"'),
            ("csv_new_line", "auto"),
            ("csv_columns", "item_id,n"),
        ]
        self.step("import CSV", "/import", fields=rows, parts=[("import_file", "rows.csv", '"1","30"\n"1","40"\n')])
        self.sql("CSV is whole", "SELECT CONCAT('sum', SUM(n)) FROM sales", "sum77", database=DATABASE + "_copy")
        for kind in ["csv", "json", "xml", "texytext"]:
            what = [
                ("db", DATABASE),
                ("table", "item"),
                ("export_type", "table"),
                ("what", kind),
                ("output_format", "astext"),
                ("asfile", "sendit"),
                (f"{kind}_structure_or_data", "data"),
                ("single_table", "1"),
            ]
            self.step(
                f"export {kind}",
                "/export",
                "apricot",
                fields=[
                    *what,
                    ("csv_separator", ","),
                    ("csv_enclosed", '"'),
                    ("csv_escaped", '"'),
                    ("csv_terminated", "AUTO"),
                    ("csv_null", "NULL"),
                    ("texytext_null", "NULL"),
                    ("xml_export_contents", "1"),
                    ("maxsize", ""),
                    ("allrows", "1"),
                ],
            )

    def users(self):
        new = [
            ("ajax_request", "1"),
            ("adduser_submit", "1"),
            ("pred_username", "userdefined"),
            ("username", "pma_clerk"),
            ("pred_hostname", "any"),
            ("hostname", "%"),
        ]
        new += [
            ("pred_password", "userdefined"),
            ("pma_pw", "Secret-1!"),
            ("pma_pw2", "Secret-1!"),
            ("authentication_plugin", "caching_sha2_password"),
            ("createdb-1", "0"),
        ]
        new += [
            ("grant_count", "36"),
            ("Select_priv", "Y"),
            ("Insert_priv", "Y"),
            ("ssl_type", "NONE"),
            ("max_questions", "0"),
            ("max_updates", "0"),
            ("max_connections", "0"),
            ("max_user_connections", "0"),
        ]
        self.step("add a user", "/server/privileges", fields=new)
        self.step("users", "/server/privileges", "pma_clerk")
        who = "username=pma_clerk&hostname=%25"
        self.step("a user", f"/server/privileges?{who}&viewing_mode=server", "pma_clerk")
        change = [
            ("ajax_request", "1"),
            ("username", "pma_clerk"),
            ("hostname", "%"),
            ("dbname", DATABASE),
            ("update_privs", "1"),
            ("grant_count", "20"),
            ("Select_priv", "Y"),
            ("Update_priv", "Y"),
            ("Execute_priv", "Y"),
        ]
        self.step("grant on a database", "/server/privileges", fields=change)
        self.step(
            "privileges of a database",
            f"/server/privileges?db={DATABASE}&checkprivsdb={DATABASE}&viewing_mode=db",
            "pma_clerk",
        )
        self.step("a user's database", f"/server/privileges?{who}&dbname={DATABASE}", "pma_clerk")
        password = [
            ("ajax_request", "1"),
            ("username", "pma_clerk"),
            ("hostname", "%"),
            ("change_pw", "1"),
            ("checkprivsdb", ""),
            ("nopass", "0"),
            ("pma_pw", "Other-2!"),
            ("pma_pw2", "Other-2!"),
            ("authentication_plugin", "caching_sha2_password"),
        ]
        self.step("change a password", "/server/privileges", fields=password)
        self.step("export a user", f"/server/privileges?{who}&export=1&ajax_request=1", "pma_clerk")
        self.step(
            "lock an account",
            "/server/privileges/account-lock",
            fields=[("ajax_request", "1"), ("username", "pma_clerk"), ("hostname", "%")],
        )
        self.step(
            "unlock an account",
            "/server/privileges/account-unlock",
            fields=[("ajax_request", "1"), ("username", "pma_clerk"), ("hostname", "%")],
        )
        delete = [("ajax_request", "1"), ("delete", "1"), ("mode", "2"), ("selected_usr[]", "pma_clerk&amp;#27;%")]
        self.step("drop a user", "/server/privileges", fields=delete)
