//! Differences in rows that are the reference's own oddities: each kind has its smallest case in `docs/differential.md`.
//!
//! Invariant: a kind is told by the statement's form and the answers, never by the seed, so that another difference of the
//! same statement is not taken for it where the answers can tell. Caller: `class`, which counts each kind as one class.
use crate::answer::Answer;
use crate::case::{
    Case, FAMILIES, are_cut, are_same_numbers, has_index, has_index_of_moments, has_no_match, has_one, held,
    is_mixed_lookup, is_of_greatest, lists, on_clauses, subqueries, uses_unsigned, without,
};
use crate::compare::Difference;
use crate::values::{are_same_bits, are_same_digits, are_same_letters};

type Kind = (&'static str, fn(&Case<'_>) -> bool);

const KINDS: &[Kind] = &[
    ("a condition in a subquery in ON of an outer join is lost", |case| {
        let joins = has_one(case, &[" LEFT JOIN ", " RIGHT JOIN "]);
        let lost = |on: &&str| subqueries(on).any(|query| query.contains(" WHERE "));
        let Some(on) = on_clauses(case.shape).find(lost).filter(|_| joins) else { return false };
        // Without the condition the subquery has more rows: more rows match, or fewer where none may.
        let is_negated =
            ["NOT IN (SELECT", "NOT EXISTS (SELECT", "ALL (SELECT"].iter().any(|not| on.contains(not));
        let matched_less = if is_negated { &case.wanted } else { &case.given };
        matched_less.iter().all(|row| has_no_match(row))
    }),
    ("MAX of an ENUM is of its number where an index answers", |case| {
        let is_alone = has_one(case, &["MAX(t.MEMBERS", "MIN(t.MEMBERS"]) && !case.shape.contains("GROUP BY");
        case.shape == "MEMBERS" && case.query.starts_with("SELECT MAX(")
            || is_alone && case.wanted.len() == 1 && has_index(case, &[" ENUM(", " SET("])
    }),
    ("an aggregate of markers is of other values where its rows are kept", |case| {
        is_marker_under_rollup(case) || is_chosen_marker(case)
    }),
    ("a BIT or YEAR has its own text or that of its number", |case| {
        let chooses = [
            "CASE ",
            "IF(",
            "IFNULL(",
            "COALESCE(",
            "GREATEST(",
            "LEAST(",
            "LAG(",
            "LEAD(",
            "(SELECT MAX(x.",
        ];
        let is_own = case.shape.contains("BIT") || case.shape.contains("YEAR");
        let plain = |rows: &[&str]| -> Vec<String> {
            let mut rows: Vec<String> = rows.iter().map(|row| row.replace("0000", "0")).collect();
            rows.sort();
            rows
        };
        let is_extreme = has_one(case, &["MAX(t.YEAR", "MIN(t.YEAR", "MAX(YEAR", "MIN(YEAR"]);
        is_own && has_one(case, &chooses) && are_same_bits(&case.wanted, &case.given)
            || is_extreme && plain(&case.wanted) == plain(&case.given)
    }),
    ("an index of a YEAR is compared with what a column stores of a number", |case| {
        let compares = ["YEAR < ", "YEAR <= ", "YEAR > ", "YEAR >= ", "YEAR BETWEEN "];
        has_one(case, &compares) && case.wanted.is_empty() && has_index(case, &[" YEAR"])
    }),
    ("a BIT is compared with a text by its bytes where an index is asked", |case| {
        let meets = ["BIT IN (", "text BETWEEN BIT", "BIT BETWEEN text", "BIT = text"];
        has_one(case, &meets)
            && case.shape.contains("text")
            && case.wanted.is_empty()
            && has_index(case, &[" BIT("])
    }),
    ("an ENUM and a text are equal by the ENUM's number where several equalities are joined", |case| {
        let meets = ["x.MEMBERS = x.TEXT", "(t.MEMBERS, u.MEMBERS) = (u.TEXT, t.TEXT)"];
        has_one(case, &meets) && has_one(case, &[" JOIN ", "EXISTS ("])
    }),
    ("IN of a subquery looks up what its column stores of a value of another kind", |case| {
        // Such a look-up finds less.
        let is_negated = has_one(case, &[" NOT IN (SELECT", "<> ALL (SELECT"]);
        let is_asked = has_one(case, &[" IN (SELECT", "= ANY (SELECT"]);
        let finds_less = if is_negated { case.given.is_empty() } else { case.wanted.is_empty() };
        (is_negated || is_asked) && finds_less && is_mixed_lookup(case)
    }),
    ("a text with a time is a date in a semijoin of DATEs", |case| {
        let is_of_dates = has_one(case, &["(SELECT x.DATE ", "(SELECT CAST(", "DATE IN (SELECT "]);
        let is_text = ["TEXT", "CONCAT", "REPLACE(", "TRIM(", " AS CHAR", " AS BINARY"];
        // Fewer rows are told of where the moment is compared.
        case.shape.contains(" IN (SELECT ") && is_of_dates && has_one(case, &is_text) && case.given.is_empty()
    }),
    ("documents are greater than themselves in ALL", |case| {
        // Where it is asked for what is not, or for what is changed, its rows stand on the other side.
        let is_turned = has_one(case, &[" EXCEPT ", "NOT EXISTS ("]) && case.wanted.is_empty();
        let is_change = ["INSERT ", "UPDATE ", "DELETE "].iter().any(|verb| case.query.starts_with(verb));
        has_one(case, &["> ALL (SELECT x.JSON", ">= ALL (SELECT x.JSON"])
            && (is_turned || is_change || case.given.iter().all(|row| has_no_match(row)))
    }),
    ("an integer beyond a DECIMAL column equals its greatest value in a hash join", |case| {
        let columns =
            ["DECIMAL = t.INTEGER", "DECIMAL = u.INTEGER", "INTEGER = u.DECIMAL", "INTEGER = t.DECIMAL"];
        has_one(case, &columns)
            && held(case, &["9999999.999"]) > 0
            && case.given.iter().all(|row| has_no_match(row))
    }),
    ("BIT_XOR of no REPLACE is as long as its markers may make it", |case| {
        let is_nothing = |row: &&str| {
            row.split('|').all(|cell| ["NULL", "0"].contains(&cell) || cell.replace("\\0", "").is_empty())
        };
        has_one(case, &["BIT_XOR(REPLACE(", "BIT_OR(REPLACE("])
            && case.wanted.iter().chain(&case.given).all(is_nothing)
    }),
    ("a SET that is chosen is its text in a window's temporary table", |case| {
        case.shape.contains(" OVER (")
            && case.shape.contains("MEMBERS")
            && has_one(case, &["SUM(CASE ", "AVG(CASE ", "SUM(IF(", "SUM(COALESCE("])
    }),
    ("a column of a group that it does not determine is of any of its rows", |case| {
        has_one(case, &["GROUP BY NULL", "GROUP BY number", "GROUP BY text"])
            && case.wanted.len() == case.given.len()
            && case.wanted.len() <= if case.shape.contains("WITH ROLLUP") { 2 } else { 1 }
    }),
    ("a marker is in a list of a marker and NULL", |case| {
        case.shape.contains(" IN (text, NULL)") && (case.wanted.is_empty() || case.given.is_empty())
    }),
    ("NULLIF in WHERE is NULL of what differs", |case| {
        // Of a constant that is computed.
        let firsts = || case.shape.split("NULLIF(").skip(1).filter_map(|rest| rest.split_once(", "));
        let is_computed =
            |first: &str| first.contains(['(', '~']) && !FAMILIES.iter().any(|f| first.contains(f));
        let is_asked = case.query.contains(" WHERE ") && case.shape.contains(") IS NULL");
        let is_decimal =
            case.shape.contains("NULLIF(CAST(text AS DECIMAL") && case.shape.contains("REAL) IS NULL");
        is_decimal || is_asked && case.given.is_empty() && firsts().any(|(first, _)| is_computed(first))
    }),
    ("a number beside a DATETIME is that moment's inner number in NULLIF and STRCMP", |case| {
        let has_null = |row: &&str| row.split('|').any(|cell| cell == "NULL");
        let is_inner = |row: &&str| row.contains("1847955") || has_null(row);
        let is_nullified = case.shape.contains("NULLIF(")
            && has_one(case, &[", DATETIME)", ", t.DATETIME)", ", u.DATETIME)"])
            && case.wanted.iter().all(is_inner)
            && !case.given.iter().all(has_null);
        is_nullified || has_one(case, &["STRCMP(number, DATETIME)", "STRCMP(DATETIME, number)"])
    }),
    ("a hexadecimal literal that a constant chooses is its bytes in WHERE", |case| {
        case.query.contains(" WHERE ")
            && has_one(case, &["NULLIF(xtext, ", "THEN xtext ", "ELSE xtext ", ", xtext)"])
            && has_one(case, &["NULLIF(", "IF(", "CASE "])
            && case.query.contains("x'41'")
    }),
    ("a list, CASE or ALL takes a negative number for the BIGINT UNSIGNED of its bits", |case| {
        is_list_of_signs(case) || is_case_of_signs(case) || is_all_of_signs(case)
    }),
    ("NOT IN of a subquery of BIT columns forgets their NULL, or finds one", |case| {
        has_one(case, &["NOT IN (SELECT BIT ", "NOT IN (SELECT x.BIT ", "<> ALL (SELECT x.BIT "])
            && (case.wanted.is_empty()
                || case.given.is_empty()
                || case.given.iter().all(|row| row.contains("NULL")))
    }),
    ("a number has the digits of its value or of its column, by the plan", |case| {
        case.query.starts_with("SELECT v, HEX(v) FROM (") && are_same_numbers(case)
            || case.has_same_kinds && are_same_digits(&case.wanted, &case.given)
    }),
    ("a negative number or a marker beside a YEAR is unsigned, or a year", |case| {
        let computes = ["-number DIV YEAR", "-number DIV u.YEAR", "-number DIV t.YEAR", "-number + YEAR"];
        let chooses = [
            "number, t.YEAR)",
            "number, u.YEAR)",
            "t.YEAR, number)",
            "u.YEAR, number)",
            "t.YEAR, -number)",
            "u.YEAR, -number)",
            "t.YEAR ELSE -number",
            "-number ELSE t.YEAR",
        ];
        let is_between = case.shape.contains("YEAR BETWEEN -number AND ")
            || case.shape.contains(" BETWEEN ") && case.shape.contains("YEAR AND -number");
        let is_told = |row: &&str| row.contains("Int(65535)");
        has_one(case, &computes)
            || has_one(case, &chooses)
            || case.shape.contains("YEAR") && (case.wanted.iter().any(is_told) || is_between)
    }),
    ("REPLACE in a temporary table takes the characters of its first text", |case| {
        case.shape.contains("REPLACE(") && are_cut(case)
    }),
    ("a fraction of a second is rounded where an index of moments without one is asked", |case| {
        case.query.contains("10:11:12.5'") && has_index_of_moments(case)
    }),
    ("the text of no date takes ten characters", |case| {
        let is_it = |row: &&str| row.contains("16383-15-3");
        !case.wanted.is_empty() && case.wanted.iter().all(is_it) && are_cut(case)
    }),
    ("a floating number that is NULL is a moment", |case| {
        let casts =
            [" AS DOUBLE) AS TIME)", " AS DOUBLE) AS DATE", " AS FLOAT) AS TIME)", "CAST(REAL AS TIME)"];
        let nulls = held(case, &["NULL"]);
        let is_condition = has_one(case, &casts) && case.wanted.len() <= nulls && case.given.len() <= nulls;
        let is_floating = has_one(case, &["REAL", " AS DOUBLE)", " AS FLOAT)"]);
        let is_cast = has_one(case, &[" AS DATE)", " AS DATETIME", " AS TIME)"]);
        let is_nothing =
            |row: &&str| ["NULL", "00:00:00", "-00-00", "0|30"].iter().any(|nothing| row.contains(nothing));
        is_condition || is_floating && is_cast && case.wanted.iter().chain(&case.given).all(is_nothing)
    }),
    ("documents that are no scalars are not ordered", |case| {
        // The row behind them may look back at one.
        let documents = held(case, &["'[", "'{"]);
        let are_all = has_one(case, &["BY JSON_ARRAY(", "BY JSON_OBJECT("]);
        case.shape.contains(" OVER (")
            && has_one(case, &["BY JSON", "BY t.JSON"])
            && (are_all || (1..=documents + 1).contains(&case.wanted.len()))
            && case.wanted.len() == case.given.len()
    }),
    ("MIN and MAX of equal texts are the one that was read first", |case| {
        has_one(case, &["MAX(", "MIN("]) && are_same_letters(&case.wanted, &case.given)
    }),
    ("0 and -0 are two numbers in EXCEPT and INTERSECT", |case| {
        let is_negative =
            |row: &&str| row.ends_with("|-0") || row.contains("|-0|") || row.ends_with("(-0.0)");
        has_one(case, &[" EXCEPT ", " INTERSECT "]) && case.wanted.iter().any(is_negative)
    }),
];

fn is_marker_under_rollup(case: &Case<'_>) -> bool {
    let constants = [
        "AVG(text)",
        "AVG(number)",
        "COUNT(text)",
        "COUNT(number)",
        "COUNT(DISTINCT text)",
        "COUNT(DISTINCT CONCAT(text, NULL))",
        "MAX(number)",
        "MAX(text)",
        "MIN(number)",
        "MIN(text)",
        "SUM(number)",
        "SUM(text)",
    ];
    let is_nothing = |row: &&str| row.ends_with("|NULL") || row.ends_with("|Int(0)") || row.ends_with("|0");
    let rows = if case.shape.contains("CONCAT(") { &case.given } else { &case.wanted };
    case.shape.contains("WITH ROLLUP")
        && has_one(case, &constants)
        && rows.iter().all(is_nothing)
        && case.wanted.len() == case.given.len()
}

fn is_chosen_marker(case: &Case<'_>) -> bool {
    let choices = ["CASE WHEN text THEN text ELSE text END)", "COALESCE(text, text))", "IFNULL(text, text))"];
    let is_zero = |row: &&str| row.ends_with("Int(0)") || row.contains("Double(0.0)");
    has_one(case, &choices) && has_one(case, &["MIN(", "MAX("]) && case.wanted.iter().all(is_zero)
}

/// Whether a constant or what `~` gives may be beyond BIGINT.
fn has_greatest(case: &Case<'_>) -> bool {
    case.query.contains("18446744073709551615") || case.shape.contains("(~ ")
}

fn is_list_of_signs(case: &Case<'_>) -> bool {
    let has_list = lists(case.shape).any(|list| !list.starts_with("SELECT"));
    has_list && (has_greatest(case) || uses_unsigned(case) && is_of_greatest(case))
}

fn is_case_of_signs(case: &Case<'_>) -> bool {
    let is_greatest = case.query.contains("18446744073709551615") || uses_unsigned(case);
    let has_several = case.shape.matches(" WHEN ").count() > 1 && (is_greatest || case.shape.contains("(~ "));
    case.shape.contains("CASE -number WHEN") && is_greatest || has_several
}

fn is_all_of_signs(case: &Case<'_>) -> bool {
    let greatest = held(case, &["18446744073709551615"]);
    let is_inside = has_one(case, &["NOT EXISTS (", "GROUP BY"]);
    case.shape.contains("> ALL (SELECT x.INTEGER")
        && uses_unsigned(case)
        && (is_inside
            || (case.wanted.len() <= greatest || case.shape.contains("number > ALL (SELECT x.INTEGER"))
                && case.given.len() <= case.wanted.len())
}

/// The name of the kind that the difference is of.
pub fn argued(difference: &Difference, shape: &str) -> Option<&'static str> {
    let (Answer::Rows { rows: wanted, kinds }, Answer::Rows { rows: given, kinds: given_kinds }) =
        (&difference.reference, &difference.tested)
    else {
        return None;
    };
    let case = Case {
        query: &difference.query,
        shape,
        table: difference.statements.get(1).map_or("", String::as_str),
        filling: difference.statements.get(2..).unwrap_or_default(),
        wanted: without(wanted, given),
        given: without(given, wanted),
        has_same_kinds: kinds == given_kinds,
    };
    KINDS.iter().find(|(_, is_of)| is_of(&case)).map(|(name, _)| *name)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(query: &str, shape: &str, wanted: &[&str], given: &[&str]) -> Option<&'static str> {
        let answer = |rows: &[&str]| Answer::Rows {
            kinds: vec!["text".to_owned()],
            rows: rows.iter().map(|row| (*row).to_owned()).collect(),
        };
        let table = "CREATE TABLE t (id INT PRIMARY KEY, c0 BIGINT UNSIGNED, c1 INT, KEY (c1))";
        let difference = Difference {
            seed: 1,
            statements: vec![
                String::new(),
                table.to_owned(),
                "INSERT INTO t VALUES (1, 18446744073709551615, 2), (2, 5, '[1]')".to_owned(),
            ],
            query: query.to_owned(),
            expression: query.to_owned(),
            reference: answer(wanted),
            tested: answer(given),
        };
        argued(&difference, shape)
    }

    #[test]
    fn kinds_are_told_by_form_and_answers() {
        let query = "SELECT v, HEX(v) FROM (SELECT c1 * 0.0 v FROM t UNION ALL SELECT 'u') d";
        assert!(of(query, "(INTEGER * number.number)", &["0|30"], &["0.0|302E30"]).is_some());
        assert!(of(query, "(INTEGER * number.number)", &["0|30"], &["1.0|312E30"]).is_none());
        let list = "SELECT id FROM t WHERE -1 IN (c0, c1)";
        assert!(of(list, "-number IN (INTEGER, INTEGER)", &["1"], &[]).is_some());
        let small = "SELECT id FROM t WHERE -1 IN (c1, c1)";
        assert!(of(small, "-number IN (INTEGER, INTEGER)", &["1"], &[]).is_none());
        let join = "t LEFT JOIN t u ON u.INTEGER IN (SELECT x.INTEGER FROM t x WHERE x.TEXT)";
        let shape = format!("SELECT t.id, u.id FROM {join}");
        assert!(of("", &shape, &["1|2"], &["1|NULL"]).is_some());
        assert!(of("", &shape, &["1|NULL"], &["1|2"]).is_none());
        let outside = "SELECT t.id, u.id FROM t LEFT JOIN t u ON u.id IN (SELECT x.id FROM t x) WHERE t.TEXT";
        assert!(of("", outside, &["1|2"], &["1|NULL"]).is_none());
        let constant = "SELECT id FROM t WHERE NULLIF(~ x'41', c1) IS NULL";
        assert!(of(constant, "NULLIF((~ xtext), INTEGER) IS NULL", &["1"], &[]).is_some());
        assert!(of(constant, "NULLIF((~ INTEGER), INTEGER) IS NULL", &["1"], &[]).is_none());
        assert!(of("", "SELECT t.id FROM t JOIN t u ON u.INTEGER = t.INTEGER", &["1"], &[]).is_none());
        let all = "SELECT id FROM t WHERE c0 > ALL (SELECT x.c0 FROM t x)";
        let shape = "INTEGER > ALL (SELECT x.INTEGER FROM t x)";
        assert!(of(all, shape, &["1"], &[]).is_some());
        assert!(of(all, shape, &["1", "2"], &[]).is_none());
        assert!(of(all, shape, &[], &["1"]).is_none());
        let window = "RANK() OVER (ORDER BY JSON)";
        assert!(of("", window, &["1", "2"], &["3", "4"]).is_some());
        assert!(of("", window, &["1", "2", "3"], &["4", "5", "6"]).is_none());
    }
}
