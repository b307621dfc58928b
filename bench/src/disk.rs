//! Where the files of a benchmark are, and what that place is.
use std::fs;
use std::path::{Path, PathBuf};

use tempfile::TempDir;

use crate::Done;

/// A directory that goes when this does: in `given`, else in the target directory of the benchmarks, which is on a real
/// disk where the sources are.
pub fn place(given: Option<&Path>) -> Done<TempDir> {
    let of_ours = Path::new(env!("CARGO_MANIFEST_DIR")).join("target");
    let above = given.map_or(of_ours, Path::to_owned);
    fs::create_dir_all(&above)?;
    Ok(tempfile::Builder::new().prefix("bench-").tempdir_in(above)?)
}

/// What is mounted there, for people.
pub fn describe(place: &Path) -> String {
    let mounts = fs::read_to_string("/proc/mounts").unwrap_or_default();
    let Some((at, device, kind)) = mount_of(place, &mounts) else {
        return format!("{}: an unknown file system", place.display());
    };
    let free = if ["tmpfs", "ramfs"].contains(&kind) { "; nothing is synced here: choose --dir" } else { "" };
    format!("{}: {kind} ({device} on {}){free}", place.display(), at.display())
}

/// The innermost mount; of two on one place the later one.
fn mount_of<'m>(place: &Path, mounts: &'m str) -> Option<(PathBuf, &'m str, &'m str)> {
    let place = place.canonicalize().ok()?;
    let mounts = mounts.lines().filter_map(|line| {
        let mut words = line.split(' ');
        let (device, at, kind) = (words.next()?, PathBuf::from(words.next()?), words.next()?);
        place.starts_with(&at).then_some((at, device, kind))
    });
    mounts.max_by_key(|(at, ..)| at.components().count())
}
