//! A recorded session, handled once more while the monitor looks on.
use machine_adapter::{Engine, Out};
use machine_journal::Record;

use crate::engine::monitor::Monitor;

/// Handles every recorded input under the eyes of the [`Monitor`]. Where nobody owes an answer at the end, everything
/// must be told; who works on a call that was taken back owes none.
///
/// # Errors
/// The property that was broken, and by which input; or these are no records of a whole session.
pub fn watch(records: &[Record]) -> Result<(), String> {
    let Some(Record::Header { branch, config, .. }) = records.first() else {
        return Err("the first record is no header".into());
    };
    let mut engine = Engine::new(*branch, config.clone()).map_err(|error| error.to_string())?;
    let mut monitor = Monitor::of_session(config);
    let mut out = Out::default();
    for record in records {
        let Record::In { n, at, input, .. } = record else { continue };
        out.clear();
        monitor.expect(&engine, input);
        engine.feed(*at, input, &mut out).map_err(|error| format!("J01: input {n} is refused: {error}"))?;
        monitor.observe(&engine, &out).map_err(|what| format!("{what} (input {n}, {})", input.kind()))?;
    }
    match engine.outstanding().find(|open| !open.withdrawn) {
        Some(_) => Ok(()),
        None => monitor.at_rest(&engine),
    }
}
