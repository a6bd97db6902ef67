//! Small files that are replaced durably as a whole: whoever opens one meets the old contents or the new ones.
//!
//! Called by what keeps a note beside the data: the archive's list, the binary log's position, the journal of changed pages.
use crate::{Disk, IoBuf, IoError, OpenOptions};

/// Gives the file `name` of `directory` new contents by way of the file `new` beside it; both are paths on the disk.
pub async fn replace_file(
    disk: &dyn Disk,
    directory: &str,
    name: &str,
    new: &str,
    bytes: &[u8],
) -> Result<(), IoError> {
    let file = disk.open(new, OpenOptions::create()).await?;
    file.set_len(0).await?;
    let (_, result) = file.write_at(0, IoBuf::copy_of(bytes)).await;
    result?;
    file.sync_all().await?;
    drop(file);
    disk.rename(new, name).await?;
    disk.sync_dir(directory).await
}
