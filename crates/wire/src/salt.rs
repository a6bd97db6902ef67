//! The 20 random bytes that a client mixes into its password proof.

/// Challenge of one authentication exchange: 7-bit bytes without NUL and `$`.
/// NUL would end the string for clients that read it as text; `$` is the separator of stored SHA-2 hashes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Salt([u8; Self::LENGTH]);

impl Salt {
    pub const LENGTH: usize = 20;

    /// Folds random bytes into the permitted alphabet.
    pub fn from_random(random: [u8; Self::LENGTH]) -> Self {
        Self(random.map(|byte| match byte & 0x7f {
            0 => 1,
            b'$' => b'%',
            byte => byte,
        }))
    }

    pub fn bytes(&self) -> &[u8; Self::LENGTH] {
        &self.0
    }
}
