use machine_cli::models::script::Script;
fn main(){
 for t in ["", "[]", "- text: a\n  foo: 1", "- {", "- text: 5", "- finish: foo", "- calls: [{tool: x, args: 5}]", "- calls: [{args: {}}]","- fail: {kind: no}", "- a\n- b", "text: a", "- cut: yes", "- cut: true\n  fail: {kind: auth}", "- text: a\n- cut: true\n  finish: other", "- calls: [{tool: x, args: {a: 1, a: 2}}]", "- calls: [{tool: x, args: {a: 1, 3: yes, f: 1.0, g: 1e400, h: 99999999999999999999, i: 0o17, j: .nan}}]","- calls: [{tool: x, args: {b: 2, a: {y: 1, x: true}, 3: yes, f: 1.0, h: 12345678901234567890, i: 0o17, t: \"12\"}}]","- text: a\n\t- b: 3","- delay_ms: -1", "- text: [a, {b: c}]", "- text: x\n  text: y", "- usage: {inpt: 3}", "---\n- text: a\n---\n- text: b", "- text: *x", "- \n- {}", "- text: x\u{0}y"] {
  println!("{t:?}\n   {}", match Script::parse("dir/s.yaml".as_ref(), t) { Ok(s)=>format!("{s:?}"), Err(e)=>e.to_string()});
 }
}
