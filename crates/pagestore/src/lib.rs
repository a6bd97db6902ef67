//! Where pages live on disk: the PageStore trait and the in-place store that is safe against torn writes.
