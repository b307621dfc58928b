//! An approval that is answered in another process, a day later. The first process asks and ends; a file has all that is
//! left of the agent. The second one goes on with it.
//!
//! `cargo run -p machine-examples --bin approval -- ask FILE`, then
//! `cargo run -p machine-examples --bin approval -- answer FILE yes`
#![forbid(unsafe_code)]

use std::error::Error;
use std::path::Path;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use agent_machine::prelude::*;

const A_DAY: Duration = Duration::from_hours(24);

#[derive(serde::Deserialize, schemars::JsonSchema)]
struct Payment {
    to: String,
    euros: u32,
}

/// Stands for a provider: it wants to pay, then tells what came of it.
async fn model(request: Request, out: ModelOut) -> Result<Finished, ModelError> {
    match request.history.last().map(|entry| entry.message.text()) {
        Some(result) if request.history.len() > 1 => {
            out.text(format!("The answer was: {result}")).await;
            Ok(Finished::new(Finish::EndTurn))
        }
        _ => {
            out.call(0, "call-1", "pay", r#"{"to": "the baker", "euros": 12}"#).await;
            Ok(Finished::new(Finish::ToolUse))
        }
    }
}

/// What both processes have in common. There is no hook that approves, so a person has to.
fn builder() -> AgentBuilder {
    let pay = tool("pay", "Pays somebody", |Payment { to, euros }, cx: ToolCx| async move {
        println!("paying {euros} euros to {to}");
        cx.text(format!("paid {euros} euros to {to}"))
    });
    Agent::builder().model(model).tool(pay.approval(true))
}

/// The first process: works until a person is asked, and writes the agent to a file.
async fn ask(file: &Path) -> Result<(), Box<dyn Error>> {
    let (agent, mut events) = builder().open_watched().await?;
    agent.submit("Pay the baker.").await?;
    while let Some(seen) = events.next().await {
        if let Event::ApprovalAsked { tool, args, .. } = &*seen?.event {
            println!("may {tool} run with {args}?");
            break;
        }
    }
    // Nothing runs now. A host with a journal may as well be killed here: opening the journal asks again.
    let parked = agent.park().await?;
    std::fs::write(file, serde_json::to_string(&parked)?)?;
    Ok(())
}

/// The second process: takes the agent up, answers what is open, and waits for the end of the turn.
async fn answer(file: &Path, yes: bool) -> Result<(), Box<dyn Error>> {
    let parked: Parked = serde_json::from_str(&std::fs::read_to_string(file)?)?;
    // Whoever takes the agent up takes it away: a second answer would pay a second time.
    std::fs::remove_file(file)?;
    // This page has no day to wait, so the clock has.
    let tomorrow = SystemTime::now().duration_since(UNIX_EPOCH)? + A_DAY;
    let clock = WallClock::starting_at(u64::try_from(tomorrow.as_millis())?);
    let (agent, mut events) = builder().parked(parked).clock(clock).open_watched().await?;
    for open in agent.outstanding().await? {
        let Question::Approve { call, tool, args, digest } = open.ask.question else { continue };
        println!("{} to {tool} with {args}", if yes { "yes" } else { "no" });
        let approval = if yes { Approval::Granted } else { Approval::Denied("not today".into()) };
        // The digest is over tool and arguments: exactly this runs, and nothing that took its place.
        agent.decide(call, digest, approval).await?;
    }
    while let Some(seen) = events.next().await {
        match &*seen?.event {
            Event::Committed { entry, .. } => {
                println!("{:?}: {}", entry.message.role(), entry.message.text())
            }
            Event::TurnEnded(end) => {
                println!("{} after {} steps", end.reason, end.steps);
                break;
            }
            _ => {}
        }
    }
    agent.close().await?;
    Ok(())
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn Error>> {
    let args: Vec<String> = std::env::args().skip(1).collect();
    match args.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        ["ask", file] => ask(file.as_ref()).await,
        ["answer", file, yes] => answer(file.as_ref(), yes == "yes").await,
        _ => Err("approval ask FILE | approval answer FILE yes|no".into()),
    }
}
