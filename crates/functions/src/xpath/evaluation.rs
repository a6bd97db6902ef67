//! What the evaluation of a path works on. Its methods stand with what they find: values in `evaluate`, nodes in `node_set`.
use crate::xpath::document::Document;
use collation::CollationId;
use expression::EvalContext;

pub(crate) struct Evaluation<'d, 't> {
    pub document: &'d Document<'t>,
    pub collation: CollationId,
    pub context: &'d EvalContext,
}
