//! Column types and the targets of CAST.
use super::Ident;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum TypeName {
    TinyInt,
    SmallInt,
    MediumInt,
    Int,
    BigInt,
    /// `BIGINT UNSIGNED NOT NULL AUTO_INCREMENT UNIQUE`
    Serial,
    /// `BOOL`, `BOOLEAN`: TINYINT(1)
    Bool,
    Decimal,
    Float,
    Double,
    Bit,
    Char,
    VarChar,
    Binary,
    VarBinary,
    TinyText,
    Text,
    MediumText,
    LongText,
    TinyBlob,
    Blob,
    MediumBlob,
    LongBlob,
    Date,
    Time,
    DateTime,
    Timestamp,
    Year,
    Enum,
    Set,
    Json,
    Vector,
    Geometry,
    Point,
    LineString,
    Polygon,
    MultiPoint,
    MultiLineString,
    MultiPolygon,
    GeometryCollection,
}

#[derive(Debug, Clone, Copy)]
pub struct DataType<'a> {
    pub name: TypeName,
    /// The first number in parentheses: length, display width, precision or fractional digits (for TIME, DATETIME
    /// and TIMESTAMP).
    pub length: Option<u64>,
    /// The second number in parentheses.
    pub decimals: Option<u64>,
    pub unsigned: bool,
    pub zerofill: bool,
    /// `CHARACTER SET x`; `ASCII` gives latin1, `UNICODE` ucs2, `BYTE` binary, NATIONAL types utf8mb3.
    pub charset: Option<Ident<'a>>,
    /// The BINARY attribute: the _bin collation of the character set.
    pub binary: bool,
    /// COLLATE, also when it stands among the column's attributes.
    pub collation: Option<Ident<'a>>,
    /// The members of ENUM and SET.
    pub members: &'a [&'a str],
}

/// The target of CAST, CONVERT, JSON_VALUE RETURNING.
#[derive(Debug, Clone, Copy)]
pub struct CastType<'a> {
    pub target: CastTarget,
    pub length: Option<u64>,
    pub decimals: Option<u64>,
    pub charset: Option<Ident<'a>>,
    /// The BINARY attribute: the _bin collation of the character set.
    pub binary: bool,
    /// `AS type ARRAY`, for multi-valued indexes.
    pub array: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum CastTarget {
    Signed,
    Unsigned,
    Char,
    /// `NCHAR`: CHAR with utf8mb3.
    NationalChar,
    Binary,
    Date,
    Time,
    DateTime,
    Year,
    Decimal,
    Float,
    Double,
    Json,
    Geometry(TypeName),
}
