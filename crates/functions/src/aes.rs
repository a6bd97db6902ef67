//! AES_ENCRYPT and AES_DECRYPT in the modes of `block_encryption_mode`.
//!
//! A key of any length is folded into the cipher's by XOR, unless a key derivation function makes it. What cannot be
//! decrypted is NULL.
use aws_lc_rs::cipher::{
    AES_128, AES_192, AES_256, Algorithm, DecryptingKey, DecryptionContext, EncryptingKey, EncryptionContext,
    PaddedBlockDecryptingKey, PaddedBlockEncryptingKey, UnboundCipherKey,
};
use aws_lc_rs::error::Unspecified;
use aws_lc_rs::iv::FixedLength;
use aws_lc_rs::{hkdf, pbkdf2};
use datum::{SqlError, Value, error_code};

use expression::BindContext;
use expression::Volatility::Statement;
use expression::call::infer::{binary_result, cast_text};
use expression::call::width::own_bytes;
use expression::{Arguments, Function};
use expression::{Expr, ExprType};

pub(super) static FUNCTIONS: &[Function] = &[
    // What they give depends on `block_encryption_mode`.
    Function {
        name: "aes_encrypt",
        arguments_min: 2,
        arguments_max: 6,
        volatility: Statement,
        infer: infer_encrypt,
        evaluate: |arguments| cipher("aes_encrypt", arguments, encrypt),
    },
    Function {
        name: "aes_decrypt",
        arguments_min: 2,
        arguments_max: 6,
        volatility: Statement,
        infer: infer_decrypt,
        evaluate: |arguments| cipher("aes_decrypt", arguments, decrypt),
    },
];

const BLOCK: usize = 16;
/// Bounds of the iterations of PBKDF2.
const ITERATIONS: std::ops::RangeInclusive<i64> = 1000..=65535;

fn infer_encrypt(bind: &BindContext, _: &'static str, arguments: &mut [Expr]) -> Result<ExprType, SqlError> {
    let bytes = own_bytes(&arguments[0]);
    arguments.iter_mut().try_for_each(|argument| cast_text(bind, argument))?;
    Ok(binary_result((bytes / BLOCK as u64 + 1) * BLOCK as u64))
}

fn infer_decrypt(bind: &BindContext, _: &'static str, arguments: &mut [Expr]) -> Result<ExprType, SqlError> {
    let bytes = own_bytes(&arguments[0]);
    arguments.iter_mut().try_for_each(|argument| cast_text(bind, argument))?;
    Ok(binary_result(bytes))
}

#[derive(Clone, Copy, PartialEq)]
enum Mode {
    Ecb,
    Cbc,
    Cfb1,
    Cfb8,
    Cfb128,
    Ofb,
}

/// `aes-256-cbc` and the like, with the length of the key; the variable holds no other.
fn mode_named(name: &str) -> (&'static Algorithm, usize, Mode) {
    let (algorithm, length): (&'static Algorithm, usize) = match name.get(4..7) {
        Some("192") => (&AES_192, 24),
        Some("256") => (&AES_256, 32),
        _ => (&AES_128, 16),
    };
    let mode = match name.get(8..).unwrap_or_default() {
        "cbc" => Mode::Cbc,
        "cfb1" => Mode::Cfb1,
        "cfb8" => Mode::Cfb8,
        "cfb128" => Mode::Cfb128,
        "ofb" => Mode::Ofb,
        _ => Mode::Ecb,
    };
    (algorithm, length, mode)
}

type Run = fn(UnboundCipherKey, Mode, [u8; BLOCK], Vec<u8>) -> Result<Vec<u8>, Unspecified>;

fn cipher(name: &str, arguments: &Arguments<'_>, run: Run) -> Result<Value, SqlError> {
    let (algorithm, length, mode) = mode_named(&arguments.context.settings.block_encryption_mode);
    let (Some(text), Some(key)) = (arguments.text(0)?, arguments.text(1)?) else { return Ok(Value::Null) };
    let vector = match initial_vector(name, arguments, mode)? {
        Some(vector) => vector,
        None => return Ok(Value::Null),
    };
    let key = match derived_key(arguments, &key, length)? {
        Some(key) => key,
        None => folded_key(arguments, &key, length),
    };
    let key = UnboundCipherKey::new(algorithm, &key)
        .map_err(|_| error_code::ER_INTERNAL_ERROR.with(&[&"the cipher refuses a key"]))?;
    Ok(run(key, mode, vector, text.into_owned()).map_or(Value::Null, Value::Bytes))
}

/// `None` when it is NULL.
fn initial_vector(
    name: &str,
    arguments: &Arguments<'_>,
    mode: Mode,
) -> Result<Option<[u8; BLOCK]>, SqlError> {
    if mode == Mode::Ecb {
        if arguments.len() == 3 {
            arguments.context.warn(error_code::WARN_OPTION_IGNORED.with(&[&"IV"]));
        }
        return Ok(Some([0; BLOCK]));
    }
    if arguments.len() < 3 {
        return Err(error_code::ER_WRONG_PARAMCOUNT_TO_NATIVE_FCT.with(&[&name]));
    }
    let Some(vector) = arguments.text(2)? else { return Ok(None) };
    match vector.first_chunk::<BLOCK>() {
        Some(vector) => Ok(Some(*vector)),
        None => Err(error_code::ER_AES_INVALID_IV.with(&[&name, &BLOCK])),
    }
}

fn folded_key(arguments: &Arguments<'_>, key: &[u8], length: usize) -> Vec<u8> {
    if key.len() > length {
        arguments.context.warn(error_code::ER_AES_INVALID_KEY_SIZE.with(&[&length]));
    }
    let mut folded = vec![0; length];
    for (index, byte) in key.iter().enumerate() {
        folded[index % length] ^= byte;
    }
    folded
}

struct KeyLength(usize);

impl hkdf::KeyType for KeyLength {
    fn len(&self) -> usize {
        self.0
    }
}

/// The key of a derivation function, if the arguments name one.
fn derived_key(arguments: &Arguments<'_>, key: &[u8], length: usize) -> Result<Option<Vec<u8>>, SqlError> {
    if arguments.len() < 4 {
        return Ok(None);
    }
    let Some(method) = arguments.text(3)? else { return Ok(None) };
    let option = |index: usize| -> Result<Vec<u8>, SqlError> {
        let given = if arguments.len() > index { arguments.text(index)? } else { None };
        Ok(given.map(|text| text.into_owned()).unwrap_or_default())
    };
    let (salt, last) = (option(4)?, option(5)?);
    let mut derived = vec![0; length];
    match &*method {
        b"hkdf" => {
            let prepared = hkdf::Salt::new(hkdf::HKDF_SHA512, &salt).extract(key);
            let info = [last.as_slice()];
            let filled = prepared.expand(&info, KeyLength(length)).and_then(|okm| okm.fill(&mut derived));
            filled.map_err(|_| error_code::ER_INTERNAL_ERROR.with(&[&"HKDF failed"]))?;
        }
        b"pbkdf2_hmac" => {
            let iterations = if last.is_empty() {
                *ITERATIONS.start()
            } else {
                std::str::from_utf8(&last).ok().and_then(|text| text.trim().parse().ok()).unwrap_or(0)
            };
            let allowed = u32::try_from(iterations).ok().and_then(std::num::NonZeroU32::new);
            match allowed.filter(|_| ITERATIONS.contains(&iterations)) {
                Some(count) => pbkdf2::derive(pbkdf2::PBKDF2_HMAC_SHA512, count, &salt, key, &mut derived),
                None => return Err(error_code::ER_AES_INVALID_KDF_ITERATIONS.plain()),
            }
        }
        _ => return Err(error_code::ER_AES_INVALID_KDF_NAME.plain()),
    }
    Ok(Some(derived))
}

fn encrypt(
    key: UnboundCipherKey,
    mode: Mode,
    vector: [u8; BLOCK],
    mut text: Vec<u8>,
) -> Result<Vec<u8>, Unspecified> {
    let context = EncryptionContext::Iv128(FixedLength::from(vector));
    match mode {
        Mode::Ecb => {
            PaddedBlockEncryptingKey::ecb_pkcs7(key)?.encrypt(&mut text)?;
        }
        Mode::Cbc => {
            PaddedBlockEncryptingKey::cbc_pkcs7(key)?.less_safe_encrypt(&mut text, context)?;
        }
        Mode::Cfb1 => _ = EncryptingKey::cfb1(key)?.less_safe_encrypt(&mut text, context)?,
        Mode::Cfb8 => _ = EncryptingKey::cfb8(key)?.less_safe_encrypt(&mut text, context)?,
        Mode::Cfb128 => _ = EncryptingKey::cfb128(key)?.less_safe_encrypt(&mut text, context)?,
        Mode::Ofb => _ = EncryptingKey::ofb(key)?.less_safe_encrypt(&mut text, context)?,
    }
    Ok(text)
}

fn decrypt(
    key: UnboundCipherKey,
    mode: Mode,
    vector: [u8; BLOCK],
    mut text: Vec<u8>,
) -> Result<Vec<u8>, Unspecified> {
    let context = DecryptionContext::Iv128(FixedLength::from(vector));
    let plain = match mode {
        Mode::Ecb => PaddedBlockDecryptingKey::ecb_pkcs7(key)?.decrypt(&mut text, DecryptionContext::None)?,
        Mode::Cbc => PaddedBlockDecryptingKey::cbc_pkcs7(key)?.decrypt(&mut text, context)?,
        Mode::Cfb1 => DecryptingKey::cfb1(key)?.decrypt(&mut text, context)?,
        Mode::Cfb8 => DecryptingKey::cfb8(key)?.decrypt(&mut text, context)?,
        Mode::Cfb128 => DecryptingKey::cfb128(key)?.decrypt(&mut text, context)?,
        Mode::Ofb => DecryptingKey::ofb(key)?.decrypt(&mut text, context)?,
    };
    Ok(plain.to_vec())
}
