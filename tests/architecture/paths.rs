//! Paths in a token stream: `a::b::{c, d as e}` becomes each path written out.

use proc_macro2::{Delimiter, TokenTree};

/// One path with all its components; a glob is the component `*`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NamedPath {
    pub parts: Vec<String>,
    /// It is given another name (`as`).
    pub renamed: bool,
}

/// The paths that begin at an identifier, and the position after them.
pub fn expand(tokens: &[TokenTree], at: usize) -> (Vec<NamedPath>, usize) {
    let Some(TokenTree::Ident(ident)) = tokens.get(at) else { return (Vec::new(), at + 1) };
    // `r#job` is the room `job`.
    let first = ident.to_string().trim_start_matches("r#").to_owned();
    let mut at = at + 1;
    if is_double_colon(tokens, at) {
        let after = at + 2;
        let rest = match tokens.get(after) {
            Some(TokenTree::Ident(_)) => {
                let (paths, end) = expand(tokens, after);
                at = end;
                paths
            }
            Some(TokenTree::Group(group)) if group.delimiter() == Delimiter::Brace => {
                at = after + 1;
                expand_group(&group.stream().into_iter().collect::<Vec<_>>())
            }
            Some(TokenTree::Punct(punct)) if punct.as_char() == '*' => {
                at = after + 1;
                vec![NamedPath { parts: vec!["*".to_owned()], renamed: false }]
            }
            _ => {
                at = after;
                vec![NamedPath { parts: Vec::new(), renamed: false }]
            }
        };
        let whole = rest.into_iter().map(|mut path| {
            path.parts.insert(0, first.clone());
            path
        });
        return (whole.collect(), at);
    }
    let renamed = matches!(tokens.get(at), Some(TokenTree::Ident(word)) if word == "as");
    (vec![NamedPath { parts: vec![first], renamed }], at)
}

fn expand_group(tokens: &[TokenTree]) -> Vec<NamedPath> {
    let mut paths = Vec::new();
    for item in tokens.split(|token| matches!(token, TokenTree::Punct(punct) if punct.as_char() == ',')) {
        match item.first() {
            Some(TokenTree::Punct(punct)) if punct.as_char() == '*' => {
                paths.push(NamedPath { parts: vec!["*".to_owned()], renamed: false });
            }
            _ => paths.extend(expand(item, 0).0),
        }
    }
    // `{self}` is what stands before the brace.
    paths.iter_mut().filter(|path| path.parts == ["self"]).for_each(|path| path.parts.clear());
    paths
}

/// Whether `::` stands there.
pub fn is_double_colon(tokens: &[TokenTree], at: usize) -> bool {
    let is_colon = |at| matches!(tokens.get(at), Some(TokenTree::Punct(punct)) if punct.as_char() == ':');
    is_colon(at) && is_colon(at + 1)
}

/// The components of a path as seen from the crate's root, where it leads into this crate: `crate::…`, and `super::…`
/// or `self::…` from a module. `None` for any other path.
pub fn in_crate(path: &NamedPath, module: &[String]) -> Option<Vec<String>> {
    let mut place = module.to_vec();
    let mut parts = path.parts.iter().peekable();
    match parts.next()?.as_str() {
        "crate" => place.clear(),
        "self" => {}
        "super" => {
            place.pop();
        }
        _ => return None,
    }
    while parts.next_if(|part| *part == "super").is_some() {
        place.pop();
    }
    place.extend(parts.cloned());
    Some(place)
}
