//! One source file with many mutants in it, each behind a switch: `on(7)` says whether mutant 7 is the one that lives.
use std::collections::{HashMap, HashSet};

use proc_macro2::{LineColumn, TokenStream};
use quote::{ToTokens, quote};
use syn::punctuated::{Pair, Punctuated};
use syn::spanned::Spanned;
use syn::visit::{self, Visit};
use syn::visit_mut::{self, VisitMut};
use syn::{Arm, BinOp, Block, Expr, Stmt, parse_quote};

use crate::Done;
use crate::list::{Genre, Mutant, Place};

/// The number of a mutant: its place in the list, from 1.
pub(crate) type Id = u32;

/// What is appended to the crate below all others: the mutant that lives is named by the environment.
pub(crate) const SWITCH: &str = r#"
extern crate std;
#[allow(missing_docs)]
pub mod mutant {
    static LIVES: std::sync::LazyLock<u32> = std::sync::LazyLock::new(|| {
        std::env::var("MUTANT").ok().and_then(|id| id.parse().ok()).unwrap_or(0)
    });
    pub fn on(id: u32) -> bool {
        *LIVES == id
    }
}
"#;

/// A file with its mutants, and which of those that were asked for are in it.
pub(crate) struct Switched {
    pub(crate) text: String,
    pub(crate) there: HashSet<Id>,
}

/// The text of a file with all these mutants behind switches. A mutant that cannot stand behind one is left out: it
/// breaks a chain of `let`s, which no compiler takes either.
pub(crate) fn switched(text: &str, mutants: &[(Id, &Mutant)]) -> Done<Switched> {
    let mut file = syn::parse_file(text)?;
    let core = mutants.first().is_some_and(|(_, mutant)| mutant.package == "machine-core");
    let mut at: HashMap<(Genre, Place), Vec<(Id, String)>> = HashMap::new();
    for (id, mutant) in mutants {
        at.entry((mutant.genre, mutant.span.start)).or_default().push((*id, mutant.replacement.clone()));
    }
    let on = if core { quote!(crate::mutant::on) } else { quote!(machine_core::mutant::on) };
    let mut switches = Switches { at, on, there: HashSet::new() };
    switches.visit_file_mut(&mut file);
    Ok(Switched { text: prettyplease::unparse(&file), there: switches.there })
}

struct Switches {
    at: HashMap<(Genre, Place), Vec<(Id, String)>>,
    on: TokenStream,
    there: HashSet<Id>,
}

/// Where the first token of this stands.
fn place(tokens: &impl ToTokens) -> Option<Place> {
    let first = tokens.to_token_stream().into_iter().next()?;
    let LineColumn { line, column } = first.span().start();
    Some(Place { line, column: column + 1 })
}

impl Switches {
    fn take(&mut self, genre: Genre, tokens: &impl ToTokens) -> Vec<(Id, String)> {
        place(tokens).and_then(|place| self.at.remove(&(genre, place))).unwrap_or_default()
    }

    fn on(&self, id: Id) -> Expr {
        let on = &self.on;
        parse_quote!(#on(#id))
    }

    /// The expression, or one of those instead while its mutant lives.
    fn or(&mut self, whole: Expr, instead: Vec<(Id, Expr)>) -> Expr {
        instead.into_iter().fold(whole, |whole, (id, other)| {
            self.there.insert(id);
            let on = self.on(id);
            parse_quote!((if #on { #other } else { #whole }))
        })
    }

    fn binary(&mut self, whole: Expr, found: Vec<(Id, String)>) -> Expr {
        let Expr::Binary(binary) = &whole else { return whole };
        if holds_let(&binary.left) || holds_let(&binary.right) {
            return whole;
        }
        let instead = found.into_iter().filter_map(|(id, operator)| {
            let op: BinOp = syn::parse_str(&operator).ok()?;
            Some((id, Expr::Binary(syn::ExprBinary { op, ..binary.clone() })))
        });
        let instead: Vec<_> = instead.collect();
        self.or(whole, instead)
    }

    fn unary(&mut self, whole: Expr, found: Vec<(Id, String)>) -> Expr {
        let Expr::Unary(unary) = &whole else { return whole };
        let instead = found.into_iter().map(|(id, _)| (id, (*unary.expr).clone())).collect();
        self.or(whole, instead)
    }

    fn fields(&mut self, whole: Expr, found: Vec<(usize, Id)>) -> Expr {
        let Expr::Struct(of) = &whole else { return whole };
        let without = |left_out: usize| {
            let kept = of.fields.iter().enumerate().filter(|(index, _)| *index != left_out);
            // A comma stands before the base.
            let pairs = kept.map(|(_, field)| Pair::Punctuated(field.clone(), Default::default()));
            let fields: Punctuated<_, _> = pairs.collect();
            Expr::Struct(syn::ExprStruct { fields, ..of.clone() })
        };
        let instead = found.into_iter().map(|(index, id)| (id, without(index))).collect();
        self.or(whole, instead)
    }
}

/// Whether this is part of a chain with `let`.
fn holds_let(expr: &Expr) -> bool {
    match expr {
        Expr::Let(_) => true,
        Expr::Binary(binary) => holds_let(&binary.left) || holds_let(&binary.right),
        _ => false,
    }
}

impl VisitMut for Switches {
    fn visit_expr_mut(&mut self, expr: &mut Expr) {
        // Places are looked up first: what is put in has none.
        let binary = match expr {
            Expr::Binary(binary) => self.take(Genre::BinaryOperator, &binary.op),
            _ => Vec::new(),
        };
        let unary = match expr {
            Expr::Unary(unary) => self.take(Genre::UnaryOperator, &unary.op),
            _ => Vec::new(),
        };
        let fields: Vec<(usize, Id)> = match expr {
            Expr::Struct(of) => {
                let each = of.fields.iter().enumerate();
                each.flat_map(|(index, field)| {
                    self.take(Genre::StructField, field).into_iter().map(move |(id, _)| (index, id))
                })
                .collect()
            }
            _ => Vec::new(),
        };
        visit_mut::visit_expr_mut(self, expr);
        let whole = std::mem::replace(expr, Expr::PLACEHOLDER);
        let whole = self.binary(whole, binary);
        let whole = self.unary(whole, unary);
        *expr = self.fields(whole, fields);
    }

    fn visit_arm_mut(&mut self, arm: &mut Arm) {
        let deleted = self.take(Genre::MatchArm, arm);
        let guarded = match &arm.guard {
            Some((_, guard)) => self.take(Genre::MatchArmGuard, guard),
            None => Vec::new(),
        };
        visit_mut::visit_arm_mut(self, arm);
        for (id, value) in guarded {
            let Some((_, guard)) = arm.guard.take() else { continue };
            if holds_let(&guard) {
                arm.guard = Some((Default::default(), guard));
                continue;
            }
            self.there.insert(id);
            let on = self.on(id);
            let either: Expr = if value == "true" {
                parse_quote!((#on || (#guard)))
            } else {
                parse_quote!((!#on && (#guard)))
            };
            arm.guard = Some((Default::default(), Box::new(either)));
        }
        for (id, _) in deleted {
            self.there.insert(id);
            let on = self.on(id);
            let guard: Expr = match arm.guard.take() {
                Some((_, guard)) if holds_let(&guard) => parse_quote!(!#on && #guard),
                Some((_, guard)) => parse_quote!(!#on && (#guard)),
                None => parse_quote!(!#on),
            };
            arm.guard = Some((Default::default(), Box::new(guard)));
        }
    }

    fn visit_block_mut(&mut self, block: &mut Block) {
        let found = match block.stmts.first() {
            Some(first) => self.take(Genre::FnValue, first),
            None => Vec::new(),
        };
        visit_mut::visit_block_mut(self, block);
        for (id, value) in found.into_iter().rev() {
            let Ok(value) = syn::parse_str::<Expr>(&value) else { continue };
            self.there.insert(id);
            let on = self.on(id);
            let early: Stmt = parse_quote!(if #on { return #value; });
            block.stmts.insert(0, early);
        }
    }
}

/// The mutants that an error at this place may come from: the innermost in whose own text it stands; or, when it is about
/// what a match looks at, those that delete its arms; or the nearest before it.
pub(crate) fn blamed(text: &str, at: Place) -> Done<Vec<Id>> {
    let file = syn::parse_file(text)?;
    let mut owned = Owned { at: (at.line, at.column), inside: None, arms: Vec::new(), before: None };
    owned.visit_file(&file);
    let Owned { inside, arms, before, .. } = owned;
    Ok(match inside {
        None if !arms.is_empty() => arms,
        None => before.into_iter().collect(),
        Some(id) => vec![id],
    })
}

/// Whose text is at a place.
struct Owned {
    at: (usize, usize),
    inside: Option<Id>,
    arms: Vec<Id>,
    before: Option<Id>,
}

impl Owned {
    fn is_in(&self, tokens: &impl ToTokens) -> bool {
        let span = tokens.span();
        let place = |place: LineColumn| (place.line, place.column + 1);
        (place(span.start())..=place(span.end())).contains(&self.at)
    }
}

/// Which mutant this asks for.
fn asked(expr: &Expr) -> Option<Id> {
    let Expr::Call(call) = expr else { return None };
    let Some(Expr::Lit(syn::ExprLit { lit: syn::Lit::Int(id), .. })) = call.args.first() else { return None };
    let switch = call.func.to_token_stream().to_string().ends_with("mutant :: on");
    if switch { id.base10_parse().ok() } else { None }
}

impl<'ast> Visit<'ast> for Owned {
    fn visit_expr_if(&mut self, branch: &'ast syn::ExprIf) {
        // From the outside to the inside, and forward: the last one wins.
        if let Some(id) = asked(&branch.cond) {
            if self.is_in(&branch.then_branch) {
                self.inside = Some(id);
            } else if branch.span().start().line <= self.at.0 {
                self.before = Some(id);
            }
        }
        visit::visit_expr_if(self, branch);
    }

    fn visit_expr_match(&mut self, of: &'ast syn::ExprMatch) {
        if self.is_in(&of.expr) {
            let guards = of.arms.iter().filter_map(|arm| arm.guard.as_ref());
            let deleted = guards.filter_map(|(_, guard)| match &**guard {
                Expr::Unary(not) => asked(&not.expr),
                Expr::Binary(both) => match &*both.left {
                    Expr::Unary(not) => asked(&not.expr),
                    _ => None,
                },
                _ => None,
            });
            self.arms.extend(deleted);
        }
        visit::visit_expr_match(self, of);
    }
}
