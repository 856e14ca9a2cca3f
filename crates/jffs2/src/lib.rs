//! jffs2
