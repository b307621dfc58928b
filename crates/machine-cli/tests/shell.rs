//! The shell: what it answers, and that it leaves nothing running.
mod common;

use std::fs;
use std::path::Path;
use std::time::{Duration, Instant};

use common::World;
use machine_cli::tools::shell::{ShellArgs, ShellEnd, ShellExit, ShellStop, run};
use tokio_util::sync::CancellationToken;

/// Long enough never to be waited for; a test that needs it to pass would not end.
const LONG: Duration = Duration::from_secs(600);

fn args(command: &str) -> ShellArgs {
    ShellArgs { command: command.into(), timeout_ms: None }
}

async fn end(world: &World, command: &str) -> ShellEnd {
    run(&world.root(), &args(command), CancellationToken::new(), LONG).await.expect("it runs")
}

/// Waits, within bounds, until the file has a whole line, and gives it.
async fn line_in(path: &Path) -> String {
    let start = Instant::now();
    loop {
        if let Some(line) =
            fs::read_to_string(path).ok().and_then(|text| text.strip_suffix('\n').map(str::to_owned))
        {
            return line;
        }
        assert!(start.elapsed() < Duration::from_secs(60), "nothing came in {}", path.display());
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}

/// Waits, within bounds, until the process is gone. A zombie that nobody has reaped yet is gone, too.
async fn gone(pid: &str) {
    let start = Instant::now();
    while is_alive(pid) {
        assert!(start.elapsed() < Duration::from_secs(60), "{pid} is still there");
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}

fn is_alive(pid: &str) -> bool {
    let Ok(stat) = fs::read_to_string(format!("/proc/{pid}/stat")) else { return false };
    let state = stat.rsplit_once(") ").and_then(|(_, rest)| rest.chars().next());
    !matches!(state, Some('Z' | 'X') | None)
}

#[tokio::test]
async fn answers_with_the_output_and_the_exit_code() {
    let world = World::with(&[("a.txt", "a\n")]);
    let check = async |command: &str, exit: ShellExit, output: &str, text: Result<&str, &str>| {
        let end = end(&world, command).await;
        assert_eq!(end, ShellEnd { exit, stopped: None, output: output.into() }, "{command}");
        assert_eq!(
            end.into_result().map_err(|e| e.to_string()).as_deref().map_err(|e| &**e),
            text,
            "{command}"
        );
    };
    check("cat a.txt", ShellExit::Code(0), "a\n", Ok("a\n")).await;
    check("true", ShellExit::Code(0), "", Ok("")).await;
    check("cat", ShellExit::Code(0), "", Ok("")).await;
    check("exit 3", ShellExit::Code(3), "", Err("[exit code 3]")).await;
    check("printf x; exit 3", ShellExit::Code(3), "x", Err("x\n[exit code 3]")).await;
    check("kill -9 $$", ShellExit::Signal(9), "", Err("[ended by signal 9]")).await;
    check("echo a; echo b >&2; echo c", ShellExit::Code(0), "a\nb\nc\n", Ok("a\nb\nc\n")).await;
}

#[tokio::test]
async fn output_is_bounded() {
    let world = World::new();
    let end = end(&world, "printf begin; head -c 1000000 /dev/zero | tr '\\0' x; printf end").await;
    assert!(end.output.starts_with("beginxxx"));
    assert!(end.output.contains("x\n[960008 characters dropped]\nx"), "{}", end.output.len());
    assert!(end.output.ends_with("xxxend"));
    assert!(end.output.len() < 41_000);
}

#[tokio::test]
async fn an_endless_output_can_be_cancelled() {
    let world = World::new();
    let cancel = CancellationToken::new();
    let (root, command) = (world.root(), args("echo $$ > pid; yes"));
    let (end, ()) = tokio::join!(run(&root, &command, cancel.clone(), LONG), async {
        line_in(&root.join("pid")).await;
        cancel.cancel();
    });
    let end = end.expect("it runs");
    assert_eq!(end.stopped, Some(ShellStop::Cancelled));
    assert_eq!(end.exit, ShellExit::Signal(15));
}

#[tokio::test]
async fn cancel_ends_the_whole_group() {
    let world = World::new();
    let cancel = CancellationToken::new();
    let (root, command) =
        (world.root(), args("sleep 600 & echo $! > child; echo $$ > pid; echo out; sleep 600"));
    let (end, pids) = tokio::join!(run(&root, &command, cancel.clone(), LONG), async {
        let pids = [line_in(&root.join("pid")).await, line_in(&root.join("child")).await];
        assert!(pids.iter().all(|pid| is_alive(pid)));
        cancel.cancel();
        pids
    });
    let end = end.expect("it runs");
    assert_eq!(
        end,
        ShellEnd { exit: ShellExit::Signal(15), stopped: Some(ShellStop::Cancelled), output: "out\n".into() }
    );
    assert!(pids.iter().all(|pid| !is_alive(pid)), "nothing is left when the call is over");
    assert_eq!(end.into_result().expect_err("an error").to_string(), "out\n[cancelled, ended by signal 15]");
}

#[tokio::test]
async fn cancel_before_the_start_ends_it_too() {
    let world = World::new();
    let cancel = CancellationToken::new();
    cancel.cancel();
    let end = run(&world.root(), &args("sleep 600"), cancel, LONG).await.expect("it runs");
    assert_eq!(end.stopped, Some(ShellStop::Cancelled));
}

#[tokio::test]
async fn who_ignores_the_signal_is_killed_after_the_grace() {
    let world = World::new();
    let cancel = CancellationToken::new();
    let root = world.root();
    let command = args(
        "trap '' TERM; (trap '' TERM; sleep 600) & echo $! > child; echo $$ > pid; while :; do sleep 600; done",
    );
    let (end, pids) = tokio::join!(run(&root, &command, cancel.clone(), Duration::from_millis(50)), async {
        let pids = [line_in(&root.join("pid")).await, line_in(&root.join("child")).await];
        cancel.cancel();
        pids
    });
    let end = end.expect("it runs");
    assert_eq!((end.exit, end.stopped), (ShellExit::Signal(9), Some(ShellStop::Cancelled)));
    assert!(pids.iter().all(|pid| !is_alive(pid)));
}

/// The shell ends at once on SIGTERM; what it started may still use its grace.
#[tokio::test]
async fn a_child_has_the_grace_too() {
    let world = World::new();
    let cancel = CancellationToken::new();
    let root = world.root();
    let command = args(
        "sh -c 'trap \"sleep 0.2; echo cleaned; exit\" TERM; echo $$ > child; while :; do sleep 0.01; done'; true",
    );
    let (end, _) = tokio::join!(run(&root, &command, cancel.clone(), LONG), async {
        line_in(&root.join("child")).await;
        cancel.cancel();
    });
    let end = end.expect("it runs");
    assert_eq!(end.stopped, Some(ShellStop::Cancelled));
    assert!(end.output.contains("cleaned\n"), "{}", end.output);
}

#[tokio::test]
async fn a_command_has_only_its_time() {
    let world = World::new();
    let args = ShellArgs { command: "echo out; sleep 600".into(), timeout_ms: Some(300) };
    let end = run(&world.root(), &args, CancellationToken::new(), LONG).await.expect("it runs");
    assert_eq!(end.stopped, Some(ShellStop::TimedOut));
    assert_eq!(end.to_string(), "out\n[timed out, ended by signal 15]");
}

#[tokio::test]
async fn background_children_end_with_the_command() {
    let world = World::new();
    let end = end(&world, "sleep 600 & echo $!; (trap '' TERM; exec sleep 600) & echo $!").await;
    assert_eq!((end.exit, end.stopped), (ShellExit::Code(0), None));
    let pids: Vec<&str> = end.output.lines().collect();
    assert_eq!(pids.len(), 2);
    assert!(pids.iter().all(|pid| !is_alive(pid)));
}

/// A process that leaves the group on purpose is out of reach, but the call does not wait for it.
#[tokio::test]
async fn who_leaves_the_group_does_not_hold_the_call() {
    let world = World::new();
    let end = end(
        &world,
        "setsid sh -c 'echo $$ > pid; exec sleep 600' & while ! [ -s pid ]; do sleep 0.01; done; echo out",
    )
    .await;
    assert_eq!((end.exit, end.output.as_str()), (ShellExit::Code(0), "out\n"));
    let pid = line_in(&world.root().join("pid")).await;
    assert!(is_alive(&pid));
    let raw = rustix::process::Pid::from_raw(pid.parse().expect("a number")).expect("not 0");
    rustix::process::kill_process(raw, rustix::process::Signal::KILL).expect("it is there");
}

#[tokio::test]
async fn dropping_the_future_ends_the_group() {
    let world = World::new();
    let root = world.root();
    let task = tokio::spawn({
        let root = root.clone();
        async move {
            let command =
                args("trap '' TERM; sleep 600 & echo $! > child; echo $$ > pid; wait; wait; sleep 600");
            run(&root, &command, CancellationToken::new(), LONG).await
        }
    });
    let pids = [line_in(&root.join("pid")).await, line_in(&root.join("child")).await];
    assert!(pids.iter().all(|pid| is_alive(pid)));
    task.abort();
    assert!(task.await.is_err_and(|error| error.is_cancelled()));
    for pid in pids {
        gone(&pid).await;
    }
}

#[tokio::test]
async fn a_missing_directory_is_an_error() {
    let world = World::new();
    let error = run(&world.root().join("none"), &args("true"), CancellationToken::new(), LONG)
        .await
        .expect_err("none");
    assert!(error.to_string().starts_with("the command could not be run: "), "{error}");
}

#[tokio::test]
async fn many_at_once_do_not_mix() {
    let world = World::new();
    let root = world.root();
    let tasks: Vec<_> = (0..30)
        .map(|i| {
            let root = root.clone();
            tokio::spawn(async move {
                run(&root, &args(&format!("sleep 600 & echo {i}; exit {i}")), CancellationToken::new(), LONG)
                    .await
            })
        })
        .collect();
    for (i, task) in (0..).zip(tasks) {
        let end = task.await.expect("no panic").expect("it runs");
        assert_eq!(end, ShellEnd { exit: ShellExit::Code(i), stopped: None, output: format!("{i}\n") });
    }
}
