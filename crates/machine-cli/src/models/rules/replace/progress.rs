//! How far a replacement is, from the calls that were made for it.
use std::collections::{BTreeMap, BTreeSet};

use machine_core::outcome::{ErrorCode, Outcome, SkipCode};

use super::Swap;
use crate::models::rules::conversation::{Done, Work};
use crate::models::rules::output::{Listing, Matches, replaced};
use crate::models::rules::say;

/// The most calls in one response.
const MAX_CALLS: usize = 50;

/// How often a file is tried whose edit was not started.
const MAX_TRIES: usize = 3;

/// The most searches over everything.
const MAX_SEARCHES: usize = 500;

/// How far it is.
#[derive(Debug, Default)]
pub(super) struct Progress<'a> {
    /// The files that have the text, in the order they were found.
    found: Vec<&'a str>,
    known: BTreeSet<&'a str>,
    edits: BTreeMap<&'a str, Edit<'a>>,
    searches: usize,
    search: Option<Search<'a>>,
    has_changed_since: bool,
    listing: Option<Result<Listing<'a>, &'a Done>>,
    looked_into: BTreeSet<&'a str>,
    /// What could not be searched, with the reason.
    pub(super) skipped: BTreeMap<&'a str, String>,
    /// How many more could not be searched.
    pub(super) more_skipped: u64,
}

/// What became of a file.
#[derive(Clone, Copy, Debug)]
pub(super) struct Edit<'a> {
    /// The last try.
    pub(super) fate: Fate<'a>,
    tries: usize,
    response: usize,
}

/// How an edit ended.
#[derive(Clone, Copy, Debug)]
pub(super) enum Fate<'a> {
    /// The text was replaced, so many times if that was said.
    Changed(Option<u64>),
    /// Nothing was changed.
    Unchanged(&'a Done),
    /// It may have been changed.
    Unsure(&'a Done),
    /// It was not started, for a reason that may pass.
    NotStarted(&'a Done),
}

/// The last search over everything.
#[derive(Debug)]
enum Search<'a> {
    Shown { missing_after: Option<&'a str> },
    Failed(&'a Done),
}

/// What is to be done when all known files are.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Rest<'a> {
    /// Nothing.
    Nothing,
    /// A search over everything.
    Search,
    /// A list of all files.
    List,
    /// A search of these files, one by one.
    Files(Vec<&'a str>),
    /// There may be more files, and this is why they are not found.
    Unknown(String),
}

impl<'a> Progress<'a> {
    /// Reads the calls that were made.
    pub(super) fn of(work: &'a Work, swap: &Swap<'_>) -> Self {
        let mut progress = Self::default();
        for done in &work.done {
            match (&*done.tool, done.arg("path")) {
                ("search", path) if path == swap.scope.path.as_deref() => progress.take_search(done),
                ("search", Some(path)) => progress.take_file_search(path, done),
                ("list", _) => progress.listing = Some(done.printed().map(Listing::read).ok_or(done)),
                ("edit", Some(path)) => progress.take_edit(path, done),
                _ => {}
            }
        }
        progress
    }

    fn take_search(&mut self, done: &'a Done) {
        self.searches += 1;
        self.has_changed_since = false;
        self.search = Some(match done.printed().map(Matches::read) {
            None => Search::Failed(done),
            Some(matches) => {
                self.take_matches(&matches);
                self.more_skipped = matches.skipped.more;
                Search::Shown { missing_after: matches.missing_after }
            }
        });
    }

    fn take_file_search(&mut self, path: &'a str, done: &'a Done) {
        self.looked_into.insert(path);
        match done.printed().map(Matches::read) {
            Some(matches) => self.take_matches(&matches),
            None => {
                self.skipped.insert(path, say::reason_beside_path(done));
            }
        }
    }

    fn take_matches(&mut self, matches: &Matches<'a>) {
        self.found.extend(matches.files().into_iter().filter(|path| self.known.insert(path)));
        self.skipped.extend(matches.skipped.named.iter().map(|(path, reason)| (*path, (*reason).to_owned())));
    }

    fn take_edit(&mut self, path: &'a str, done: &'a Done) {
        let tries = self.edits.get(path).map_or(0, |edit| edit.tries) + 1;
        let edit = Edit { fate: Fate::of(done), tries, response: done.response };
        self.has_changed_since |= matches!(edit.fate, Fate::Changed(_));
        self.edits.insert(path, edit);
    }

    /// Whether nothing was done yet.
    pub(super) fn is_new(&self) -> bool {
        self.searches == 0
    }

    /// How many files have the text, as far as is known.
    pub(super) fn found(&self) -> usize {
        self.found.len()
    }

    /// Whether there may be more than is known.
    pub(super) fn is_partial(&self) -> bool {
        matches!(self.search, Some(Search::Shown { missing_after: Some(_) })) && self.listing.is_none()
    }

    /// Why the last search over everything failed, if it did.
    pub(super) fn failure(&self) -> Option<&'a Done> {
        match self.search {
            Some(Search::Failed(done)) => Some(done),
            Some(Search::Shown { .. }) | None => None,
        }
    }

    /// The files that have the text, each with what became of it if it was tried.
    pub(super) fn files(&self) -> impl Iterator<Item = (&'a str, Option<Fate<'a>>)> {
        self.found.iter().map(|path| (*path, self.edits.get(path).map(|edit| edit.fate)))
    }

    /// Whether the whole last batch of edits was denied: more of them would be, too.
    pub(super) fn is_refused(&self) -> bool {
        let last = self.edits.values().map(|edit| edit.response).max();
        let mut batch = self.edits.values().filter(|edit| Some(edit.response) == last);
        last.is_some() && batch.all(|edit| edit.fate.is_denied())
    }

    /// The files to edit.
    pub(super) fn todo(&self) -> Vec<&'a str> {
        let is_open = |path: &&'a str| match self.edits.get(path) {
            None => true,
            Some(edit) => matches!(edit.fate, Fate::NotStarted(_)) && edit.tries < MAX_TRIES,
        };
        self.found.iter().copied().filter(is_open).collect()
    }

    /// How many calls a response may have.
    pub(super) fn room(&self) -> usize {
        let mut responses: BTreeMap<usize, (usize, usize)> = BTreeMap::new();
        for edit in self.edits.values() {
            let (all, started) = responses.entry(edit.response).or_default();
            *all += 1;
            *started += usize::from(!edit.fate.is_over_limit());
        }
        let started = responses.values().filter(|(all, started)| started < all).map(|(_, started)| *started);
        started.min().unwrap_or(MAX_CALLS).clamp(1, MAX_CALLS)
    }

    /// What is to be done when nothing is to be edited.
    pub(super) fn rest(&self, swap: &Swap<'_>, can_list: bool) -> Rest<'a> {
        let after = match self.search {
            None => return Rest::Search,
            Some(Search::Failed(_) | Search::Shown { missing_after: None }) => return Rest::Nothing,
            Some(Search::Shown { missing_after: Some(after) }) => after,
        };
        match &self.listing {
            // A file that was changed takes no more place in the next answer, unless it still has the text.
            None if self.has_changed_since && !swap.new.contains(swap.old) => {
                if self.searches < MAX_SEARCHES {
                    return Rest::Search;
                }
                Rest::Unknown("that were too many searches".to_owned())
            }
            None if can_list => Rest::List,
            None => Rest::Unknown("one search does not show everything".to_owned()),
            Some(Err(done)) => {
                let reason = say::reason(done);
                Rest::Unknown(format!("one search does not show everything, and the list failed: {reason}"))
            }
            Some(Ok(listing)) => {
                let is_open = |path: &&str| {
                    *path > after && !self.known.contains(path) && !self.looked_into.contains(path)
                };
                let files: Vec<_> = listing.files().filter(is_open).collect();
                match (files.is_empty(), listing.is_cut) {
                    (false, _) => Rest::Files(files),
                    (true, false) => Rest::Nothing,
                    (true, true) => Rest::Unknown("one list does not show all files".to_owned()),
                }
            }
        }
    }
}

impl<'a> Fate<'a> {
    fn of(done: &'a Done) -> Self {
        match &done.outcome {
            Outcome::Ok => Self::Changed(replaced(&done.output)),
            Outcome::Error { code } => match code {
                ErrorCode::Panicked
                | ErrorCode::NoResult
                | ErrorCode::MalformedResult
                | ErrorCode::Withheld => Self::Unsure(done),
                ErrorCode::Failed
                | ErrorCode::UnknownTool
                | ErrorCode::InvalidArguments
                | ErrorCode::BadJson
                | ErrorCode::IllegalName
                | ErrorCode::HookFailed => Self::Unchanged(done),
            },
            Outcome::Denied { .. } => Self::Unchanged(done),
            Outcome::NotStarted { code } => match code {
                SkipCode::Truncated
                | SkipCode::Suspended
                | SkipCode::Other
                | SkipCode::Crash
                | SkipCode::BatchStopped
                | SkipCode::SiblingFatal
                | SkipCode::Busy
                | SkipCode::Limit
                | SkipCode::Steer => Self::NotStarted(done),
                SkipCode::Filtered
                | SkipCode::Abort
                | SkipCode::Repeat
                | SkipCode::Hook
                | SkipCode::ApprovalExpired
                | SkipCode::Budget => Self::Unchanged(done),
            },
            Outcome::Cancelled { may_have_run } | Outcome::TimedOut { may_have_run } => {
                if *may_have_run {
                    Self::Unsure(done)
                } else {
                    Self::Unchanged(done)
                }
            }
            Outcome::Unknown => Self::Unsure(done),
        }
    }

    fn is_denied(self) -> bool {
        matches!(self, Self::Unchanged(done) if matches!(done.outcome, Outcome::Denied { .. }))
    }

    fn is_over_limit(self) -> bool {
        let limit = Outcome::skipped(SkipCode::Limit);
        matches!(self, Self::NotStarted(done) if done.outcome == limit)
    }
}
