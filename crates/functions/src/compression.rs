//! COMPRESS, UNCOMPRESS and UNCOMPRESSED_LENGTH: a zlib stream behind the length of what was packed.
//!
//! The length takes four bytes, the lowest first. A dot follows a stream that ends in a space, because CHAR columns
//! would cut it. Invariant: no more is unpacked than max_allowed_packet, whatever the bytes say.
use std::io::{Read, Write};

use datum::{SqlError, Value, error_code};
use flate2::Compression;
use flate2::read::ZlibDecoder;
use flate2::write::ZlibEncoder;

use expression::BindContext;
use expression::Volatility::Pure;
use expression::call::infer::{binary_result, cast_text, integer_type};
use expression::call::width::own_bytes;
use expression::{Arguments, Function};
use expression::{Expr, ExprType};

type Infer = fn(&BindContext, &'static str, &mut [Expr]) -> Result<ExprType, SqlError>;
type Evaluate = fn(&Arguments<'_>) -> Result<Value, SqlError>;

const fn entry(name: &'static str, infer: Infer, evaluate: Evaluate) -> Function {
    Function { name, arguments_min: 1, arguments_max: 1, volatility: Pure, infer, evaluate }
}

pub(super) static FUNCTIONS: &[Function] = &[
    entry("compress", infer_compress, compress),
    entry("uncompress", infer_uncompress, uncompress),
    entry("uncompressed_length", infer_length, uncompressed_length),
];

const HEADER: usize = 4;
/// Bytes between two looks at others.
const PIECE: usize = 16 * 1024;

fn infer_compress(bind: &BindContext, _: &'static str, arguments: &mut [Expr]) -> Result<ExprType, SqlError> {
    let bytes = own_bytes(&arguments[0]);
    cast_text(bind, &mut arguments[0])?;
    // What zlib says that so many bytes become at most, with a header.
    Ok(binary_result(bytes + (bytes >> 12) + (bytes >> 14) + (bytes >> 25) + 18))
}

fn infer_uncompress(
    bind: &BindContext,
    _: &'static str,
    arguments: &mut [Expr],
) -> Result<ExprType, SqlError> {
    cast_text(bind, &mut arguments[0])?;
    Ok(binary_result(u64::from(u32::MAX)))
}

fn infer_length(bind: &BindContext, _: &'static str, arguments: &mut [Expr]) -> Result<ExprType, SqlError> {
    cast_text(bind, &mut arguments[0])?;
    Ok(integer_type())
}

fn compress(arguments: &Arguments<'_>) -> Result<Value, SqlError> {
    let Some(bytes) = arguments.text(0)? else { return Ok(Value::Null) };
    let Ok(length) = u32::try_from(bytes.len()) else { return Ok(Value::Null) };
    if length == 0 {
        return Ok(Value::Bytes(Vec::new()));
    }
    let mut encoder = ZlibEncoder::new(length.to_le_bytes().to_vec(), Compression::default());
    let written = bytes.chunks(PIECE).try_for_each(|piece| {
        env::tick(piece.len() * 16);
        encoder.write_all(piece)
    });
    let packed = written.and_then(|()| encoder.finish());
    let mut packed = packed.map_err(|error| error_code::ER_INTERNAL_ERROR.with(&[&error]))?;
    if packed.last() == Some(&b' ') {
        packed.push(b'.');
    }
    Ok(Value::Bytes(packed))
}

/// The length that the header tells; the two highest bits are no part of it.
fn told_length(bytes: &[u8]) -> Option<u32> {
    let header = bytes.first_chunk::<HEADER>()?;
    (bytes.len() > HEADER).then(|| u32::from_le_bytes(*header) & 0x3FFF_FFFF)
}

fn uncompress(arguments: &Arguments<'_>) -> Result<Value, SqlError> {
    let Some(bytes) = arguments.text(0)? else { return Ok(Value::Null) };
    if bytes.is_empty() {
        return Ok(Value::Bytes(Vec::new()));
    }
    let corrupted = || {
        arguments.context.warn(error_code::ER_ZLIB_Z_DATA_ERROR.plain());
        Ok(Value::Null)
    };
    let Some(length) = told_length(&bytes) else { return corrupted() };
    let limit = arguments.context.settings.max_allowed_packet;
    if u64::from(length) > limit {
        arguments.context.warn(error_code::ER_TOO_BIG_FOR_UNCOMPRESS.with(&[&limit]));
        return Ok(Value::Null);
    }
    let mut unpacked = Vec::new();
    let mut decoder = ZlibDecoder::new(&bytes[HEADER..]).take(u64::from(length) + 1);
    match read_in_pieces(&mut decoder, &mut unpacked) {
        Ok(_) if unpacked.len() <= length as usize => Ok(Value::Bytes(unpacked)),
        Ok(_) => {
            arguments.context.warn(error_code::ER_ZLIB_Z_BUF_ERROR.plain());
            Ok(Value::Null)
        }
        Err(_) => corrupted(),
    }
}

/// Reads to the end, counting the work.
fn read_in_pieces(decoder: &mut impl Read, unpacked: &mut Vec<u8>) -> std::io::Result<()> {
    loop {
        let before = unpacked.len();
        decoder.by_ref().take(PIECE as u64).read_to_end(unpacked)?;
        if unpacked.len() == before {
            return Ok(());
        }
        env::tick((unpacked.len() - before) * 4);
    }
}

fn uncompressed_length(arguments: &Arguments<'_>) -> Result<Value, SqlError> {
    let Some(bytes) = arguments.text(0)? else { return Ok(Value::Null) };
    if bytes.is_empty() {
        return Ok(Value::Int(0));
    }
    match told_length(&bytes) {
        Some(length) => Ok(Value::Int(i64::from(length))),
        None => {
            arguments.context.warn(error_code::ER_ZLIB_Z_DATA_ERROR.plain());
            Ok(Value::Int(0))
        }
    }
}
