//! The house rules that a machine can check: each is a test that names the file, the line and the mend.
//! Nothing depends on this crate.

#![forbid(unsafe_code)]

#[cfg(test)]
mod documents;
#[cfg(test)]
mod layers;
#[cfg(test)]
mod sizes;
#[cfg(test)]
mod sources;
#[cfg(test)]
mod tree;
