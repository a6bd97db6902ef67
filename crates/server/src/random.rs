//! Random numbers that no client may guess.

pub(crate) fn random_u64() -> u64 {
    let mut bytes = [0; 8];
    aws_lc_rs::rand::fill(&mut bytes).expect("the operating system gives random bytes");
    u64::from_le_bytes(bytes)
}
