//! Values that a client binds to a prepared statement (or attaches to a query), decoded from the binary protocol.
//!
//! A `ParameterBinding` lives as long as its statement: the types a client sent once stay valid for later
//! executions, and long data waits in it until the next execution. Called by `server::connection`.

use crate::capability::Capabilities;
use crate::column::ColumnType;
use crate::error::ProtocolError;
use crate::field::{FieldReader, Truncated};

/// One bound value. Text and blobs stay bytes in the client's character set.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum ParameterValue<'a> {
    Null,
    Signed(i64),
    Unsigned(u64),
    Float(f32),
    Double(f64),
    /// A string, number or JSON text; `column_type` is what the client declared it to be.
    Bytes {
        column_type: ColumnType,
        bytes: &'a [u8],
    },
    Date(DateTimeValue),
    DateTime(DateTimeValue),
    Time(TimeValue),
}

/// A calendar value as it came; nothing is checked beyond the length, so the session must check ranges.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct DateTimeValue {
    pub year: u16,
    pub month: u8,
    pub day: u8,
    pub hour: u8,
    pub minute: u8,
    pub second: u8,
    pub microsecond: u32,
}

/// A TIME value as it came; ranges unchecked.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TimeValue {
    pub negative: bool,
    pub days: u32,
    pub hours: u8,
    pub minutes: u8,
    pub seconds: u8,
    pub microsecond: u32,
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct ParameterType {
    column_type: ColumnType,
    unsigned: bool,
}

/// Flag of COM_STMT_EXECUTE: the packet says how many parameters it carries (query attributes included).
const PARAMETER_COUNT_AVAILABLE: u8 = 0x08;

/// The parameters of one prepared statement across its executions. Small, because a client may prepare
/// thousands of statements.
#[derive(Debug, Default)]
pub struct ParameterBinding {
    count: u16,
    types: Box<[ParameterType]>,
    /// Filled by COM_STMT_SEND_LONG_DATA.
    long_data: Option<Box<LongData>>,
}

/// What has come of each parameter.
type LongData = Vec<Option<Vec<u8>>>;

impl ParameterBinding {
    pub fn new(count: u16) -> Self {
        Self { count, ..Self::default() }
    }

    /// Appends a piece of one parameter; `false` when there is no such parameter or it grows beyond `limit`.
    /// The protocol has no reply here, so the caller keeps the error for the next execution.
    pub fn append_long_data(&mut self, parameter: u16, data: &[u8], limit: usize) -> bool {
        if parameter >= self.count {
            return false;
        }
        let empty = || Box::new(vec![None; usize::from(self.count)]);
        let long_data = self.long_data.get_or_insert_with(empty);
        let stored = long_data[usize::from(parameter)].get_or_insert_with(Vec::new);
        if stored.len() + data.len() > limit {
            return false;
        }
        stored.extend_from_slice(data);
        true
    }

    /// Forgets long data: after an execution and on COM_STMT_RESET.
    pub fn clear_long_data(&mut self) {
        self.long_data = None;
    }

    /// Decodes the parameters of an execution: `payload` is what follows the iteration count, `flags` the
    /// execution's flags byte. Attributes that follow the real parameters are checked and left out.
    pub fn decode<'a>(
        &'a mut self,
        payload: &'a [u8],
        flags: u8,
        capabilities: Capabilities,
    ) -> Result<Vec<ParameterValue<'a>>, ProtocolError> {
        let mut values = Vec::with_capacity(usize::from(self.count));
        self.decode_each(payload, flags, capabilities, |value| values.push(value))?;
        Ok(values)
    }

    /// The same, one value after the other. After an error some may have been given.
    pub fn decode_each<'a>(
        &'a mut self,
        payload: &'a [u8],
        flags: u8,
        capabilities: Capabilities,
        mut give: impl FnMut(ParameterValue<'a>),
    ) -> Result<(), ProtocolError> {
        let mut reader = FieldReader::new(payload);
        let with_attributes = capabilities.has(Capabilities::QUERY_ATTRIBUTES);
        let own_count = usize::from(self.count);
        let mut count = own_count;
        // Clients that know attributes send the count whenever parameters follow; the flag alone says that there
        // are attributes although the statement has no parameters.
        if with_attributes && (count > 0 || flags & PARAMETER_COUNT_AVAILABLE != 0) {
            count =
                usize::try_from(reader.length_encoded_integer()?).map_err(|_| ProtocolError::Malformed)?;
            if count < own_count {
                return Err(ProtocolError::Malformed);
            }
        }
        if count == 0 {
            return Ok(());
        }
        let nulls = reader.bytes(count.div_ceil(8))?;
        if reader.u8()? == 1 {
            self.read_types(&mut reader, count, with_attributes)?;
        } else if self.types.len() < count {
            return Err(ProtocolError::Malformed);
        }
        for (index, parameter_type) in self.types.iter().take(count).enumerate() {
            let long_data = self.long_data.as_ref().and_then(|data| data.get(index)?.as_deref());
            let value = if let Some(bytes) = long_data {
                ParameterValue::Bytes { column_type: parameter_type.column_type, bytes }
            } else if nulls[index / 8] & (1 << (index % 8)) != 0 {
                ParameterValue::Null
            } else {
                read_value(&mut reader, *parameter_type)?
            };
            if index < own_count {
                give(value);
            }
        }
        Ok(())
    }

    /// Most clients repeat the same types with every execution, which then cost no allocation.
    fn read_types(
        &mut self,
        reader: &mut FieldReader<'_>,
        count: usize,
        with_names: bool,
    ) -> Result<(), ProtocolError> {
        let mut known = std::mem::take(&mut self.types).into_vec();
        known.clear();
        for _ in 0..count {
            known.push(read_type(reader)?);
            if with_names {
                reader.length_encoded_bytes()?;
            }
        }
        self.types = known.into_boxed_slice();
        Ok(())
    }
}

pub(crate) fn read_type(reader: &mut FieldReader<'_>) -> Result<ParameterType, ProtocolError> {
    let column_type = ColumnType::from_code(reader.u8()?).ok_or(ProtocolError::Malformed)?;
    Ok(ParameterType { column_type, unsigned: reader.u8()? & 0x80 != 0 })
}

pub(crate) fn read_value<'a>(
    reader: &mut FieldReader<'a>,
    parameter_type: ParameterType,
) -> Result<ParameterValue<'a>, ProtocolError> {
    let integer = |signed: i64, unsigned: u64| {
        if parameter_type.unsigned {
            ParameterValue::Unsigned(unsigned)
        } else {
            ParameterValue::Signed(signed)
        }
    };
    let column_type = parameter_type.column_type;
    Ok(match column_type {
        ColumnType::Null => ParameterValue::Null,
        ColumnType::Tiny => {
            let value = reader.u8()?;
            integer(i64::from(value.cast_signed()), u64::from(value))
        }
        ColumnType::Short | ColumnType::Year => {
            let value = reader.u16()?;
            integer(i64::from(value.cast_signed()), u64::from(value))
        }
        ColumnType::Long | ColumnType::Int24 => {
            let value = reader.u32()?;
            integer(i64::from(value.cast_signed()), u64::from(value))
        }
        ColumnType::LongLong => {
            let value = reader.u64()?;
            integer(value.cast_signed(), value)
        }
        ColumnType::Float => ParameterValue::Float(f32::from_bits(reader.u32()?)),
        ColumnType::Double => ParameterValue::Double(f64::from_bits(reader.u64()?)),
        ColumnType::Date => ParameterValue::Date(read_date_time(reader)?),
        ColumnType::DateTime | ColumnType::Timestamp => ParameterValue::DateTime(read_date_time(reader)?),
        ColumnType::Time => ParameterValue::Time(read_time(reader)?),
        ColumnType::Decimal
        | ColumnType::NewDecimal
        | ColumnType::VarChar
        | ColumnType::VarString
        | ColumnType::String
        | ColumnType::Bit
        | ColumnType::Json
        | ColumnType::Enum
        | ColumnType::Set
        | ColumnType::TinyBlob
        | ColumnType::MediumBlob
        | ColumnType::LongBlob
        | ColumnType::Blob
        | ColumnType::Geometry => {
            ParameterValue::Bytes { column_type, bytes: reader.length_encoded_bytes()? }
        }
    })
}

fn read_date_time(reader: &mut FieldReader<'_>) -> Result<DateTimeValue, Truncated> {
    let mut value = DateTimeValue::default();
    let length = reader.u8()?;
    if !matches!(length, 0 | 4 | 7 | 11) {
        return Err(Truncated);
    }
    if length >= 4 {
        value.year = reader.u16()?;
        value.month = reader.u8()?;
        value.day = reader.u8()?;
    }
    if length >= 7 {
        value.hour = reader.u8()?;
        value.minute = reader.u8()?;
        value.second = reader.u8()?;
    }
    if length == 11 {
        value.microsecond = reader.u32()?;
    }
    Ok(value)
}

fn read_time(reader: &mut FieldReader<'_>) -> Result<TimeValue, Truncated> {
    let mut value = TimeValue::default();
    let length = reader.u8()?;
    if !matches!(length, 0 | 8 | 12) {
        return Err(Truncated);
    }
    if length >= 8 {
        value.negative = reader.u8()? != 0;
        value.days = reader.u32()?;
        value.hours = reader.u8()?;
        value.minutes = reader.u8()?;
        value.seconds = reader.u8()?;
    }
    if length == 12 {
        value.microsecond = reader.u32()?;
    }
    Ok(value)
}
