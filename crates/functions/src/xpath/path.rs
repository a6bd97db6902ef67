//! Paths as trees.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Axis {
    Ancestor,
    AncestorOrSelf,
    Attribute,
    Child,
    Descendant,
    DescendantOrSelf,
    Parent,
    Own,
}

/// What selects nodes.
#[derive(Clone, Debug)]
pub(crate) enum Nodes {
    Root,
    /// The node that the innermost condition in brackets is asked of.
    Current,
    /// `name` is `*` for any.
    Named {
        of: Box<Nodes>,
        axis: Axis,
        name: Box<[u8]>,
    },
    /// `[condition]`
    Where {
        of: Box<Nodes>,
        condition: Box<Path>,
    },
    /// `[number]`
    At {
        of: Box<Nodes>,
        index: Box<Path>,
    },
    Union(Box<Nodes>, Box<Nodes>),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Calculation {
    Add,
    Subtract,
    Multiply,
    Divide,
    Modulo,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum PathFunction {
    Boolean,
    Ceiling,
    Concat,
    Contains,
    Count,
    False,
    Floor,
    Last,
    Not,
    Number,
    Position,
    Round,
    StringLength,
    Substring,
    Sum,
    True,
}

#[derive(Clone, Debug)]
pub(crate) enum Path {
    Nodes(Nodes),
    Integer(i64),
    Real(f64),
    Text(Box<[u8]>),
    /// A user variable of SQL, in lower case.
    Variable(Box<str>),
    And(Box<Path>, Box<Path>),
    Or(Box<Path>, Box<Path>),
    Compare(expression::ComparisonOperator, Box<Path>, Box<Path>),
    Calculate(Calculation, Box<Path>, Box<Path>),
    Negate(Box<Path>),
    Call(PathFunction, Vec<Path>),
}

impl Path {
    /// Whether it is a condition, by which nodes are kept, and no number, which says which one.
    pub fn is_condition(&self) -> bool {
        use PathFunction::{Boolean, Contains, False, Not, True};
        matches!(
            self,
            Path::And(..)
                | Path::Or(..)
                | Path::Compare(..)
                | Path::Nodes(_)
                | Path::Call(Boolean | Contains | False | Not | True, _)
        )
    }
}
