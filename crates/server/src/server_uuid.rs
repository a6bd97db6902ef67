//! `server_uuid`: made at the first start, kept in `auto.cnf` of the data directory, where MySQL has it as well.
use std::fs;
use std::path::Path;

const FILE: &str = "auto.cnf";
const KEY: &str = "server-uuid=";

/// The server's UUID.
pub(crate) fn load(directory: &Path) -> Result<String, String> {
    let path = directory.join(FILE);
    match fs::read_to_string(&path) {
        Ok(text) => {
            let line = text.lines().find_map(|line| line.trim().strip_prefix(KEY));
            let known = line.and_then(binlog::ServerUuid::parse);
            known.map(|uuid| uuid.to_string()).ok_or_else(|| format!("{} has no server-uuid", path.display()))
        }
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
            let mut bytes = [0; 16];
            aws_lc_rs::rand::fill(&mut bytes).map_err(|_| "the system gives no random bytes".to_owned())?;
            // Version 4, variant 1.
            bytes[6] = bytes[6] & 0x0F | 0x40;
            bytes[8] = bytes[8] & 0x3F | 0x80;
            let uuid = binlog::ServerUuid(bytes).to_string();
            let text = format!("[auto]\n{KEY}{uuid}\n");
            fs::write(&path, text).map_err(|error| format!("cannot write {}: {error}", path.display()))?;
            Ok(uuid)
        }
        Err(error) => Err(format!("cannot read {}: {error}", path.display())),
    }
}
