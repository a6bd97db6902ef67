//! The head of a backup file and the sealing of its frames.
//!
//! Invariant: with a key nothing is taken whose tag is not right, and the key itself is in no file. Used by `writer` and `reader`.

use aws_lc_rs::aead::{AES_256_GCM, Aad, LessSafeKey, Nonce, UnboundKey};
use aws_lc_rs::{hkdf, rand};

pub(super) const HEAD_BYTES: usize = 64;
pub(super) const FRAME_HEADER_BYTES: usize = 12;
pub(super) const MAGIC: &[u8; 8] = b"EKBACKU1";
const SALT_BYTES: usize = 32;
const CHECK_BYTES: usize = 12;
const KEY_BYTES: usize = 32;
/// Shorter keys could be tried out.
const KEY_FILE_BYTES_MIN: usize = 32;
const CRC_BYTES: usize = 4;
const TAG_BYTES: usize = 16;

/// What a key file holds.
pub struct BackupKey(Vec<u8>);

impl BackupKey {
    /// The content of a key file, without the end of its last line; `None` if that is too short for a key.
    pub fn new(content: &[u8]) -> Option<BackupKey> {
        let end = content.iter().rposition(|byte| !matches!(byte, b'\n' | b'\r')).map_or(0, |last| last + 1);
        (end >= KEY_FILE_BYTES_MIN).then(|| BackupKey(content[..end].to_vec()))
    }
}

/// What the frames of one file are sealed with.
pub(super) struct Seal {
    head: [u8; HEAD_BYTES],
    key: Option<LessSafeKey>,
}

/// Why a head is none that can be used.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum HeadFault {
    NoBackup,
    Damaged,
    NeedsKey,
    WrongKey,
    HasNoKey,
}

struct Length(usize);

impl hkdf::KeyType for Length {
    fn len(&self) -> usize {
        self.0
    }
}

/// The key of the frames, and what tells the right key.
fn derive(key: &BackupKey, salt: &[u8]) -> Option<(LessSafeKey, [u8; CHECK_BYTES])> {
    let secret = hkdf::Salt::new(hkdf::HKDF_SHA256, salt).extract(&key.0);
    let mut bytes = [0; KEY_BYTES + CHECK_BYTES];
    secret.expand(&[b"evenkeel backup 1"], Length(bytes.len())).ok()?.fill(&mut bytes).ok()?;
    let (key, check) = bytes.split_first_chunk::<KEY_BYTES>()?;
    let key = UnboundKey::new(&AES_256_GCM, key).ok()?;
    Some((LessSafeKey::new(key), *check.first_chunk()?))
}

fn assemble(is_sealed: bool, salt: &[u8; SALT_BYTES], check: [u8; CHECK_BYTES]) -> [u8; HEAD_BYTES] {
    let mut head = [0; HEAD_BYTES];
    head[..8].copy_from_slice(MAGIC);
    head[8] = u8::from(is_sealed);
    head[16..48].copy_from_slice(salt);
    head[48..60].copy_from_slice(&check);
    let crc = crc_fast::crc32_iscsi(&head[..60]);
    head[60..].copy_from_slice(&crc.to_le_bytes());
    head
}

impl Seal {
    /// Of a new file; `None` if the machine gives no random numbers.
    pub fn new(key: Option<&BackupKey>) -> Option<Seal> {
        let Some(key) = key else {
            return Some(Seal { head: assemble(false, &[0; SALT_BYTES], [0; CHECK_BYTES]), key: None });
        };
        let mut salt = [0; SALT_BYTES];
        rand::fill(&mut salt).ok()?;
        let (key, check) = derive(key, &salt)?;
        Some(Seal { head: assemble(true, &salt, check), key: Some(key) })
    }

    /// Of a file with this head.
    pub fn of_head(bytes: &[u8], key: Option<&BackupKey>) -> Result<Seal, HeadFault> {
        if !bytes.starts_with(MAGIC) {
            return Err(HeadFault::NoBackup);
        }
        let head: [u8; HEAD_BYTES] = bytes.try_into().map_err(|_| HeadFault::Damaged)?;
        let salt: &[u8; SALT_BYTES] = head[16..48].try_into().expect("32 bytes");
        let check: [u8; CHECK_BYTES] = head[48..60].try_into().expect("12 bytes");
        if assemble(head[8] == 1, salt, check) != head {
            return Err(HeadFault::Damaged);
        }
        match (head[8] == 1, key) {
            (false, None) => Ok(Seal { head, key: None }),
            (false, Some(_)) => Err(HeadFault::HasNoKey),
            (true, None) => Err(HeadFault::NeedsKey),
            (true, Some(key)) => match derive(key, salt) {
                Some((key, found)) if found == check => Ok(Seal { head, key: Some(key) }),
                _ => Err(HeadFault::WrongKey),
            },
        }
    }

    pub fn head(&self) -> &[u8; HEAD_BYTES] {
        &self.head
    }

    /// How many bytes follow what is stored.
    pub fn ending_bytes(&self) -> usize {
        if self.key.is_some() { TAG_BYTES } else { CRC_BYTES }
    }

    fn bound(&self, header: &[u8], number: u64) -> Vec<u8> {
        [header, &self.head, &number.to_le_bytes()].concat()
    }

    /// Seals what is stored of a frame in its place, and appends the ending.
    pub fn close(&self, header: &[u8], number: u64, stored: &mut Vec<u8>) -> Option<()> {
        debug_assert_eq!(header.len(), FRAME_HEADER_BYTES, "the whole header is bound");
        let bound = self.bound(header, number);
        match &self.key {
            None => {
                let crc = crc_of(&bound, stored);
                stored.extend_from_slice(&crc.to_le_bytes());
                Some(())
            }
            Some(key) => key.seal_in_place_append_tag(nonce(number), Aad::from(bound), stored).ok(),
        }
    }

    /// Takes the ending off; `None` if it is not right.
    pub fn open(&self, header: &[u8], number: u64, bytes: &mut Vec<u8>) -> Option<()> {
        let bound = self.bound(header, number);
        match &self.key {
            None => {
                let stored = bytes.split_off(bytes.len().checked_sub(CRC_BYTES)?);
                (crc_of(&bound, bytes).to_le_bytes() == stored[..]).then_some(())
            }
            Some(key) => {
                let length = key.open_in_place(nonce(number), Aad::from(bound), bytes).ok()?.len();
                bytes.truncate(length);
                Some(())
            }
        }
    }
}

fn nonce(number: u64) -> Nonce {
    let mut bytes = [0; 12];
    bytes[..8].copy_from_slice(&number.to_le_bytes());
    Nonce::assume_unique_for_key(bytes)
}

fn crc_of(bound: &[u8], stored: &[u8]) -> u32 {
    let mut crc = crc_fast::Digest::new(crc_fast::CrcAlgorithm::Crc32Iscsi);
    crc.update(bound);
    crc.update(stored);
    crc.finalize() as u32
}
