fn main() {
    for path in std::env::args().skip(1) {
        let scenario = match machine_testkit::scenario::Scenario::load(path.as_ref()) {
            Ok(s) => s,
            Err(e) => {
                println!("{e}");
                continue;
            }
        };
        match scenario.run() {
            Ok(v) => {
                println!("{path}: {}", if v.missed.is_empty() { "ok" } else { "FAILED" });
                for m in &v.missed {
                    println!("{m:#?}");
                }
                if std::env::var("TRACE").is_ok() {
                    for l in v.trace {
                        println!("{l}")
                    }
                }
            }
            Err(e) => println!("{path}: {e}"),
        }
    }
}
