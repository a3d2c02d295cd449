//! The map: the arrow table and the exemptions, as ARCHITECTURE.md writes them.

use std::collections::{BTreeMap, BTreeSet};

/// What ARCHITECTURE.md allows.
#[derive(Clone, Debug, Default)]
pub struct Map {
    /// Each room with the rooms that it may name.
    pub arrows: BTreeMap<String, BTreeSet<String>>,
    /// Files that may name something the rest may not: (file, what).
    pub exemptions: BTreeSet<(String, String)>,
}

impl Map {
    /// Reads the block fenced as `arrows` and the table whose head is `| file | may name | why |`.
    pub fn read(text: &str) -> Result<Self, String> {
        let block = text.split("```arrows\n").nth(1).and_then(|rest| rest.split("\n```").next());
        let arrows = read_arrows(block.ok_or("ARCHITECTURE.md has no block fenced as `arrows`")?)?;
        if let Some(cycle) = find_cycle(&arrows) {
            return Err(format!("the arrow table has a cycle: {}", cycle.join(" → ")));
        }
        let rows = text.lines().skip_while(|line| *line != "| file | may name | why |").skip(2);
        let mut exemptions = BTreeSet::new();
        for row in rows.take_while(|line| line.starts_with('|')) {
            let cells: Vec<&str> = row.trim_matches('|').split('|').map(str::trim).collect();
            let [file, what, why] = *cells else { return Err(format!("not three cells: {row}")) };
            if why.is_empty() || what.contains("crate::") {
                return Err(format!("an exemption needs a reason, and no arrow can be exempt: {row}"));
            }
            let bare = |cell: &str| cell.trim_matches('`').to_owned();
            exemptions.insert((bare(file), bare(what)));
        }
        Ok(Self { arrows, exemptions })
    }
}

/// Reads lines `room: room room   what it is for`, parted by two blanks or more; `all above` and `(nothing)` are words.
fn read_arrows(block: &str) -> Result<BTreeMap<String, BTreeSet<String>>, String> {
    let mut arrows: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for line in block.lines().filter(|line| !line.trim().is_empty()) {
        let (room, rest) = line.split_once(':').ok_or(format!("no room in front: {line}"))?;
        let list = rest.trim_start().split("  ").next().unwrap_or_default();
        let named = match list.split_once("all above") {
            Some(("", except)) => {
                let except: BTreeSet<&str> =
                    except.split_whitespace().filter(|word| *word != "but").collect();
                arrows.keys().filter(|above| !except.contains(above.as_str())).cloned().collect()
            }
            _ if list == "(nothing)" => BTreeSet::new(),
            _ => list.split_whitespace().map(str::to_owned).collect(),
        };
        if arrows.insert(room.trim().to_owned(), named).is_some() {
            return Err(format!("the room `{room}` stands twice"));
        }
    }
    for (room, named) in &arrows {
        if let Some(unknown) = named.iter().find(|name| !arrows.contains_key(*name)) {
            return Err(format!("`{room}` names `{unknown}`, which is no room of the table"));
        }
    }
    Ok(arrows)
}

/// A walk along arrows that comes back to where it began.
pub fn find_cycle(arrows: &BTreeMap<String, BTreeSet<String>>) -> Option<Vec<String>> {
    arrows.keys().find_map(|room| path_to(arrows, room, room, &mut BTreeSet::new()))
}

fn path_to(
    arrows: &BTreeMap<String, BTreeSet<String>>,
    from: &str,
    goal: &str,
    seen: &mut BTreeSet<String>,
) -> Option<Vec<String>> {
    for next in arrows.get(from)? {
        if next == goal {
            return Some(vec![from.to_owned(), goal.to_owned()]);
        }
        if seen.insert(next.clone())
            && let Some(mut path) = path_to(arrows, next, goal, seen)
        {
            path.insert(0, from.to_owned());
            return Some(path);
        }
    }
    None
}
