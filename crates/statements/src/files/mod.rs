//! Rows from and to files: LOAD DATA, LOAD XML and SELECT .. INTO OUTFILE, with their formats.

mod load_data;
mod load_format;
mod load_source;
mod load_xml;
mod outfile;
mod outfile_format;
