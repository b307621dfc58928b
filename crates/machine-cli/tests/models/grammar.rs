//! From prompts to requests.
use machine_cli::models::rules::{Request, Scope, Unclear, parse};

fn scope(place: &str) -> Scope {
    let (glob, path) = place.split_once('@').unwrap_or((place, ""));
    let some = |text: &str| (!text.is_empty()).then(|| text.to_owned());
    Scope { path: some(path), glob: some(glob) }
}

/// `place` is `GLOB@PATH`, each of them may be missing.
#[track_caller]
fn replaces(prompt: &str, old: &str, new: &str, place: &str) {
    let request = Request::Replace { old: old.to_owned(), new: new.to_owned(), scope: scope(place) };
    assert_eq!(parse(prompt), Ok(request), "{prompt}");
}

#[track_caller]
fn finds(prompt: &str, text: &str, place: &str) {
    assert_eq!(parse(prompt), Ok(Request::Find { text: text.to_owned(), scope: scope(place) }), "{prompt}");
}

#[track_caller]
fn is(prompt: &str, request: Request) {
    assert_eq!(parse(prompt), Ok(request), "{prompt}");
}

#[track_caller]
fn unclear(prompt: &str, expected: fn(&Unclear) -> bool) {
    let got = parse(prompt);
    assert!(got.as_ref().is_err_and(expected), "{prompt}: {got:?}");
}

#[test]
fn replacements() {
    replaces("replace foo with bar in *.md", "foo", "bar", "*.md");
    replaces("Replace \"foo\" with 'bar' in `*.md`.", "foo", "bar", "*.md");
    replaces("please replace `a b` with \"c d\"", "a b", "c d", "");
    replaces(
        "Could you please REPLACE the word foo WITH bar in all *.md files, please?",
        "foo",
        "bar",
        "*.md",
    );
    replaces("replace all occurrences of \"foo\" by \"bar\" in docs/", "foo", "bar", "@docs/");
    replaces("replace every foo with bar in *.md below docs!", "foo", "bar", "*.md@docs");
    replaces(r#"replace "say \"x\"" with "C:\\new\n""#, "say \"x\"", r"C:\new\n", "");
    replaces("replace 'it's' with “it is” in README.md", "it's", "it is", "README.md");
    replaces("replace foo with \"\"", "foo", "", "");
    replaces("replace \" in \" with \" with \" in *.md", " in ", " with ", "*.md");
    replaces("replace with with in", "with", "in", "");
    replaces("replace the word to with now", "to", "now", "");
    replaces("replace a with aa in a", "a", "aa", "@a");
    replaces("replace foo in *.md with bar", "foo", "bar", "*.md");
    replaces("replace \"grün\" with \"blau 🎨\" in *.md", "grün", "blau 🎨", "*.md");
    replaces("replace foo with bar everywhere", "foo", "bar", "");
    replaces("replace \"a\nb\"\n with c\nin *.md\n", "a\nb", "c", "*.md");
    replaces("replace all with none", "all", "none", "");
}

#[test]
fn what_would_be_a_guess_is_not_replaced() {
    let form = |unclear: &Unclear| matches!(unclear, Unclear::Form(_));
    unclear("replace", form);
    unclear("replace foo", form);
    unclear("replace foo with", form);
    unclear("replace with bar", form);
    unclear("replace foo bar with baz", form);
    unclear("replace a b with c", form);
    unclear("replace the foo with bar", form);
    unclear("replace foo with bar baz", form);
    unclear("replace foo with bar in *.md and then run make", form);
    unclear("replace foo in *.md with bar in *.txt", form);
    unclear("replace \"\" with bar", |unclear| *unclear == Unclear::NoText);
    unclear("replace \"foo with bar", |unclear| *unclear == Unclear::OpenQuote);
}

#[test]
fn searches() {
    finds("find foo", "foo", "");
    finds("Find \"foo bar\" in *.md", "foo bar", "*.md");
    finds("search for TODO in src/**/*.rs", "TODO", "src/**/*.rs");
    finds("search *.md for 'x y'", "x y", "*.md");
    finds("search in *.md for x", "x", "*.md");
    finds("look for the word foo here.", "foo", "");
    finds("grep foo", "foo", "");
    finds("find all files with foo in docs", "foo", "@docs");
    finds("find for", "for", "");
    finds("find please, please", "please", "");
    unclear("find foo bar", |unclear| matches!(unclear, Unclear::Form(_)));
    unclear("find", |unclear| matches!(unclear, Unclear::Form(_)));
}

#[test]
fn looks() {
    let count = |place: &str| Request::Count { scope: scope(place) };
    is("count lines", count(""));
    is("Count the lines in *.md.", count("*.md"));
    is("how many lines are there in README.md?", count("README.md"));
    is("How many lines does docs/a.md have?", count("@docs/a.md"));
    is("count the number of lines of all rs files in src", count("*.rs@src"));
    unclear("count words", |unclear| matches!(unclear, Unclear::Form(_)));
    let list = |place: &str| Request::List { scope: scope(place) };
    is("list", list(""));
    is("list .", list(""));
    is("List docs", list("@docs"));
    is("ls ..", list("@.."));
    is("list all files in docs/", list("@docs/"));
    is("list *.md", list("*.md"));
    is("show *.md", list("*.md"));
    let show = |path: &str| Request::Show { path: path.to_owned() };
    is("what is in docs?", show("docs"));
    is("What's in this directory?", show("."));
    is("what’s in here?", show("."));
    is("what files are in src/a", show("src/a"));
    is("show me the file README.md", show("README.md"));
    is("show \"my file\"", show("my file"));
    let read = |path: &str| Request::Read { path: path.to_owned() };
    is("read README.md.", read("README.md"));
    is("please read the contents of `a b.md`", read("a b.md"));
    unclear("read", |unclear| matches!(unclear, Unclear::Form(_)));
    unclear("read a b", |unclear| matches!(unclear, Unclear::Form(_)));
}

#[test]
fn commands_stay_as_they_are_written() {
    let run = |command: &str| Request::Run { command: command.to_owned() };
    is("run ls -l", run("ls -l"));
    is("Run: echo it's \"a  b\" ", run("echo it's \"a  b\""));
    is("run `printf 'a\\n\\\\'`", run("printf 'a\\n\\\\'"));
    is("please run the command `make test`, please.", run("make test"));
    is("execute \"echo \\\"x\\\"\"", run("echo \"x\""));
    is("run 'a b' c", run("'a b' c"));
    is("`ls`", run("ls"));
    is("run echo \"open", run("echo \"open"));
    unclear("run", |unclear| matches!(unclear, Unclear::Form(_)));
    unclear("run ``", |unclear| matches!(unclear, Unclear::Form(_)));
}

#[test]
fn everything_else_is_no_request() {
    for prompt in [
        "",
        "  \n",
        "hello",
        "please",
        "what is the weather",
        "change directory to docs",
        "…",
        "\"replace\"",
        "?",
    ] {
        unclear(prompt, |unclear| *unclear == Unclear::Verb);
    }
}

#[test]
fn any_text_is_read_without_harm() {
    const PARTS: [&str; 28] = [
        "replace",
        "find",
        "count lines",
        "show",
        "run",
        "with",
        "in",
        "for",
        "\"",
        "'",
        "`",
        "“",
        "”",
        "«",
        "\\",
        " ",
        " ",
        "\n",
        ".",
        "?",
        "!",
        ":",
        "*.md",
        ".",
        "é",
        "🎨",
        "a/b",
        "please",
    ];
    let mut state = 1_u64;
    for _ in 0..20_000 {
        let mut prompt = String::new();
        for _ in 0..12 {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            prompt.push_str(PARTS[usize::try_from(state >> 33).expect("31 bits") % PARTS.len()]);
        }
        let again = parse(&prompt);
        assert_eq!(parse(&prompt), again);
        if let Ok(Request::Find { text, .. } | Request::Replace { old: text, .. }) = again {
            assert!(!text.is_empty(), "{prompt}");
        }
    }
}
