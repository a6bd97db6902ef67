//! EXTRACTVALUE and UPDATEXML. The path has to be the same for all rows; what is no XML gives NULL with warning 1525.
use datum::{ColumnType, SqlError, TypeKind, Value, error_code};

use crate::xpath::{Document, Evaluation, Kind, Path, PathError, parse_path};
use expression::BindContext;
use expression::EvalContext;
use expression::Volatility::Pure;
use expression::call::infer::{compared_texts, is_text};
use expression::{Arguments, Function};
use expression::{Expr, ExprKind, ExprType};

/// The characters that MySQL says a result has at most: of texts four times as many as of other arguments.
const LENGTH: u32 = 16_777_216;

pub(super) static FUNCTIONS: &[Function] = &[
    Function {
        name: "extractvalue",
        arguments_min: 2,
        arguments_max: 2,
        volatility: Pure,
        infer,
        evaluate: extract,
    },
    Function {
        name: "updatexml",
        arguments_min: 3,
        arguments_max: 3,
        volatility: Pure,
        infer,
        evaluate: update,
    },
];

fn infer(bind: &BindContext, name: &'static str, arguments: &mut [Expr]) -> Result<ExprType, SqlError> {
    if !is_steady(&arguments[1]) {
        return Err(error_code::ER_UNKNOWN_ERROR.with(&[&"Only constant XPATH queries are supported"]));
    }
    let is_of_text = is_text(&arguments[0].ty.column.kind);
    let ty = compared_texts(bind, name, arguments, 0)?;
    if bind.decide_by_constant(&arguments[1]) {
        let context = EvalContext::of_constants(bind).with_parameters(bind.known.all());
        if let Ok(Value::Bytes(text)) = arguments[1].eval(&[], &context) {
            parse_path(&text).map_err(refusal)?;
        }
    }
    let is_binary = !ty.column.is_text();
    let kind = if is_binary { TypeKind::LongBlob } else { TypeKind::LongText };
    let length = if is_of_text && !is_binary { 4 * LENGTH } else { LENGTH };
    let column = ColumnType { length, collation: ty.column.collation, ..ColumnType::new(kind) };
    Ok(ExprType::new(column, ty.coercibility))
}

/// Whether a statement has one value of it.
fn is_steady(expr: &Expr) -> bool {
    match &expr.kind {
        ExprKind::Literal(_) | ExprKind::Parameter(_) | ExprKind::UserVariable(_) => true,
        ExprKind::Cast(inner) | ExprKind::Branch(inner) | ExprKind::Fit(inner) | ExprKind::Relabel(inner) => {
            is_steady(inner)
        }
        ExprKind::Negate(inner) => is_steady(inner),
        ExprKind::Arithmetic(_, left, right) => is_steady(left) && is_steady(right),
        ExprKind::Call(function, arguments) => {
            !function.is_volatile(arguments) && arguments.iter().all(is_steady)
        }
        _ => false,
    }
}

fn refusal(error: PathError) -> SqlError {
    let (what, rest) = match error {
        PathError::Syntax(rest) => ("XPATH syntax error", rest),
        PathError::TwoNodeSets(rest) => ("XPATH error: comparison of two nodesets is not supported", rest),
        PathError::UnknownVariable(rest) => ("Unknown XPATH variable at", rest),
    };
    let message = format!("{what}: '{}'", String::from_utf8_lossy(&rest));
    error_code::ER_UNKNOWN_ERROR.with(&[&message])
}

/// What is done with a document and a path; NULL where one of them is NULL or no XML.
fn with_document(
    arguments: &Arguments<'_>,
    answer: impl FnOnce(&Evaluation<'_, '_>, &Path) -> Result<Value, SqlError>,
) -> Result<Value, SqlError> {
    let (Some(text), Some(path)) = (arguments.text(0)?, arguments.text(1)?) else { return Ok(Value::Null) };
    let path = parse_path(&path).map_err(refusal)?;
    let document = match Document::read(&text) {
        Ok(document) => document,
        Err(problem) => {
            let warning = error_code::ER_WRONG_VALUE.with(&[&"XML", &problem]);
            arguments.context.session.warn(warning.into_warning());
            return Ok(Value::Null);
        }
    };
    let collation = arguments.ty.collation();
    answer(&Evaluation { document: &document, collation, context: arguments.context }, &path)
}

fn extract(arguments: &Arguments<'_>) -> Result<Value, SqlError> {
    with_document(arguments, |evaluation, path| {
        let text = evaluation.value(path, None)?.into_text();
        Ok(text.map_or(Value::Null, Value::Bytes))
    })
}

/// One node that is found is replaced; the document stays as it is where none is, or several.
fn update(arguments: &Arguments<'_>) -> Result<Value, SqlError> {
    let Some(new) = arguments.text(2)? else { return Ok(Value::Null) };
    let updated = with_document(arguments, |evaluation, path| {
        let Path::Nodes(nodes) = path else { return Ok(Value::Null) };
        let document = evaluation.document;
        let found = evaluation.select(nodes, None)?;
        let [selected] = found.as_slice() else { return Ok(Value::bytes(document.text)) };
        let node = &document.nodes[selected.node];
        if node.level == 0 {
            return Ok(Value::bytes(&*new));
        }
        // The angles of a tag belong to it.
        let angle = usize::from(node.kind == Kind::Tag);
        let before = &document.text[..node.start.saturating_sub(angle)];
        let behind = document.text.get(node.tag_end + angle..).unwrap_or_default();
        Ok(Value::Bytes([before, &new, behind].concat()))
    })?;
    match &updated {
        Value::Bytes(text) if !arguments.fits_packet("updatexml", text.len() as u64) => Ok(Value::Null),
        _ => Ok(updated),
    }
}
