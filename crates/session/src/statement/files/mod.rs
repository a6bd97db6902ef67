//! Rows from and to files: LOAD DATA, LOAD XML and SELECT .. INTO OUTFILE, with their formats.

pub(super) mod load_data;
pub(super) mod load_format;
pub(super) mod load_source;
pub(super) mod load_xml;
pub(super) mod outfile;
pub(super) mod outfile_format;
