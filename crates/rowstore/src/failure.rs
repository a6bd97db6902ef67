//! What the statement hears when its temporary files fail.
use datum::{SqlError, error_code};
use env::{IoError, IoErrorKind, IoOp};

/// The errors of MySQL's temporary tables and files: 1114 when there is no room, else 1024 and 1026.
pub fn spill_error(error: IoError) -> SqlError {
    let (number, what) = match error.kind {
        IoErrorKind::NoSpace => return error_code::ER_RECORD_FILE_FULL.with(&[&error.path]),
        IoErrorKind::Os(number) => (number, std::io::Error::from_raw_os_error(number).to_string()),
        IoErrorKind::TooManyFiles => (24, "Too many open files".to_owned()),
        _ => (5, error.to_string()),
    };
    let what = what.split(" (os error").next().unwrap_or_default();
    match error.op {
        IoOp::Read => error_code::ER_ERROR_ON_READ.with(&[&error.path, &number, &what]),
        _ => error_code::ER_ERROR_ON_WRITE.with(&[&error.path, &number, &what]),
    }
}

/// A record that is not what was written: the file was changed by somebody else, or the disk gave something else.
pub fn damaged() -> SqlError {
    spill_error(IoError::new(IoOp::Read, "a temporary file", IoErrorKind::EndOfFile))
}
