//! A column type as a JSON object: the kind's word, its sizes, and what differs from the plain type.
use super::{Read, collation, error, field, flag, list, small, text};
use datum::{ColumnType, Members, TypeKind};
use serde_json::{Value as Json, json};

/// Kinds without sizes of their own, with the word each is stored under.
const PLAIN_KINDS: &[(&str, TypeKind)] = &[
    ("null", TypeKind::Null),
    ("tiny", TypeKind::Tiny),
    ("short", TypeKind::Short),
    ("int24", TypeKind::Int24),
    ("long", TypeKind::Long),
    ("longlong", TypeKind::LongLong),
    ("char", TypeKind::Char),
    ("varchar", TypeKind::VarChar),
    ("binary", TypeKind::Binary),
    ("varbinary", TypeKind::VarBinary),
    ("tinytext", TypeKind::TinyText),
    ("text", TypeKind::Text),
    ("mediumtext", TypeKind::MediumText),
    ("longtext", TypeKind::LongText),
    ("tinyblob", TypeKind::TinyBlob),
    ("blob", TypeKind::Blob),
    ("mediumblob", TypeKind::MediumBlob),
    ("longblob", TypeKind::LongBlob),
    ("date", TypeKind::Date),
    ("year", TypeKind::Year),
    ("json", TypeKind::Json),
];

pub fn write(column_type: &ColumnType) -> Json {
    let mut form = kind_form(&column_type.kind);
    form["length"] = json!(column_type.length);
    form["collation"] = json!(column_type.collation.name());
    for (name, set) in [
        ("unsigned", column_type.unsigned),
        ("zerofill", column_type.zerofill),
        ("nullable", column_type.nullable),
    ] {
        if set {
            form[name] = json!(true);
        }
    }
    form
}

fn kind_form(kind: &TypeKind) -> Json {
    match kind {
        TypeKind::Decimal { precision, scale } => {
            json!({"kind": "decimal", "precision": precision, "scale": scale})
        }
        TypeKind::Float { digits } => json!({"kind": "float", "digits": digits}),
        TypeKind::Double { digits } => json!({"kind": "double", "digits": digits}),
        TypeKind::Time { fsp } => json!({"kind": "time", "fsp": fsp}),
        TypeKind::DateTime { fsp } => json!({"kind": "datetime", "fsp": fsp}),
        TypeKind::Timestamp { fsp } => json!({"kind": "timestamp", "fsp": fsp}),
        TypeKind::Enum(members) => json!({"kind": "enum", "members": members_form(members)}),
        TypeKind::Set(members) => json!({"kind": "set", "members": members_form(members)}),
        TypeKind::Bit(bits) => json!({"kind": "bit", "bits": bits}),
        plain => {
            let word = PLAIN_KINDS.iter().find(|(_, kind)| kind == plain).map(|(word, _)| *word);
            json!({"kind": word.expect("every kind is either listed or matched above")})
        }
    }
}

fn members_form(members: &Members) -> Vec<String> {
    members.iter().map(|member| super::value_form::hex(member)).collect()
}

pub fn read(form: &Json) -> Read<ColumnType> {
    Ok(ColumnType {
        kind: read_kind(form)?,
        unsigned: flag(form, "unsigned"),
        zerofill: flag(form, "zerofill"),
        nullable: flag(form, "nullable"),
        length: small(form, "length")?,
        collation: collation(form)?,
    })
}

fn read_kind(form: &Json) -> Read<TypeKind> {
    let word = text(form, "kind")?;
    Ok(match word.as_str() {
        "decimal" => TypeKind::Decimal { precision: small(form, "precision")?, scale: small(form, "scale")? },
        "float" => TypeKind::Float { digits: read_digits(form)? },
        "double" => TypeKind::Double { digits: read_digits(form)? },
        "time" => TypeKind::Time { fsp: small(form, "fsp")? },
        "datetime" => TypeKind::DateTime { fsp: small(form, "fsp")? },
        "timestamp" => TypeKind::Timestamp { fsp: small(form, "fsp")? },
        "enum" => TypeKind::Enum(read_members(form)?),
        "set" => TypeKind::Set(read_members(form)?),
        "bit" => TypeKind::Bit(small(form, "bits")?),
        plain => match PLAIN_KINDS.iter().find(|(name, _)| *name == plain) {
            Some((_, kind)) => kind.clone(),
            None => return Err(error(format!("unknown type '{plain}'"))),
        },
    })
}

fn read_digits(form: &Json) -> Read<Option<(u8, u8)>> {
    match field(form, "digits")? {
        Json::Null => Ok(None),
        Json::Array(pair) => match pair.iter().map(Json::as_u64).collect::<Vec<_>>()[..] {
            [Some(precision @ 0..=255), Some(scale @ 0..=255)] => Ok(Some((precision as u8, scale as u8))),
            _ => Err(error("'digits' is not a pair of numbers")),
        },
        _ => Err(error("'digits' is not a pair of numbers")),
    }
}

fn read_members(form: &Json) -> Read<Members> {
    let member = |member: &Json| {
        let digits = member.as_str().ok_or_else(|| error("a member is not text"))?;
        super::value_form::from_hex(digits).map(Vec::into_boxed_slice)
    };
    Ok(list(form, "members")?.iter().map(member).collect::<Read<Vec<_>>>()?.into())
}
