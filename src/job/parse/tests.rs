//! What the reader makes of YAML, trap by trap.

use super::*;

/// Parses, and gives the node with the places of its scalars, or the messages.
fn parsed(text: &str) -> Result<Node, Vec<String>> {
    let mut sink = Sink::new(text);
    let node = parse(&mut sink);
    let found: Vec<String> = sink.finish().into_iter().map(|diagnostic| diagnostic.message).collect();
    if found.is_empty() { node.ok_or_else(Vec::new) } else { Err(found) }
}

/// Every scalar with the text at its span.
fn scalars(node: &Node, text: &str, found: &mut Vec<(String, String, Style)>) {
    match &node.content {
        Content::Scalar(scalar) => {
            found.push((scalar.text.clone(), text.get(node.span.clone()).unwrap().to_owned(), scalar.style));
        }
        Content::List(nodes) => nodes.iter().for_each(|node| scalars(node, text, found)),
        Content::Map(entries) => {
            for entry in entries {
                assert_eq!(
                    text.get(entry.key_span.clone()),
                    Some(entry.key.as_str()),
                    "keys stand where they stand"
                );
                scalars(&entry.value, text, found);
            }
        }
        Content::Broken => {}
    }
}

#[test]
fn scalars_stay_text_and_know_their_places() {
    for line_end in ["\n", "\r\n"] {
        for mark in ["", "\u{feff}"] {
            let text =
                format!("{mark}ä: 007\nb: [no, ~, 1e3, 12:30, 0x10, null]\nc: 'it''s'\nd: \"a\\tb\"\n")
                    .replace('\n', line_end);
            let mut found = Vec::new();
            scalars(&parsed(&text).unwrap(), &text, &mut found);
            let plain = |text: &str| (text.to_owned(), text.to_owned(), Style::Plain);
            let expected = vec![
                plain("007"),
                plain("no"),
                plain("~"),
                plain("1e3"),
                plain("12:30"),
                plain("0x10"),
                plain("null"),
                ("it's".to_owned(), "'it''s'".to_owned(), Style::SingleQuoted),
                ("a\tb".to_owned(), "\"a\\tb\"".to_owned(), Style::DoubleQuoted),
            ];
            assert_eq!(found, expected);
        }
    }
}

#[test]
fn block_text_lines_know_their_places_under_both_line_ends() {
    use crate::job::node::block_lines;
    for line_end in ["\n", "\r\n"] {
        let text = "exclude: |\n    .cache/\n\n      deeper\n    é*.tmp\nx: 1\n".replace('\n', line_end);
        let node = parsed(&text).unwrap();
        let block = node.get("exclude").unwrap();
        let Content::Scalar(scalar) = &block.content else { panic!("a scalar") };
        let lines: Vec<(String, &str)> = block_lines(&text, &block.span, scalar)
            .into_iter()
            .map(|(line, place)| (line, text.get(place).unwrap()))
            .collect();
        let expected = [(".cache/", ".cache/"), ("", ""), ("  deeper", "deeper"), ("é*.tmp", "é*.tmp")];
        let expected: Vec<(String, &str)> =
            expected.iter().map(|(line, place)| ((*line).to_owned(), *place)).collect();
        assert_eq!(lines, expected);
    }
}

#[test]
fn nothing_is_told_from_null_and_folded_from_plain() {
    let node = parsed("a:\nb: ~\nc: one\n  two\nd: >\n  x\n").unwrap();
    let style = |key: &str| match &node.get(key).unwrap().content {
        Content::Scalar(scalar) => scalar.style,
        other => panic!("{other:?}"),
    };
    assert_eq!([style("a"), style("b")], [Style::Absent, Style::Plain]);
    assert_eq!([style("c"), style("d")], [Style::PlainFolded, Style::Folded]);
}

#[test]
fn repairs_let_all_traps_be_seen_in_one_pass() {
    let text = "a: [${x}/y, b]\nc:\n- @z\n- *.[oa]\n- !q[1]\nd: \"C:\\Qux\"\n";
    assert_eq!(parsed(text).unwrap_err().len(), 5);
}

#[test]
fn repairs_come_to_an_end() {
    let text = "- @x\n".repeat(REPAIRS_MAX + 10);
    assert_eq!(parsed(&text).unwrap_err().len(), REPAIRS_MAX + 1);
}

#[test]
fn size_and_depth_are_bounded() {
    let large = format!("# {}\n", "x".repeat(TEXT_BYTES_MAX));
    assert_eq!(parsed(&large).unwrap_err(), ["the file is larger than 1 MiB"]);
    for open in ["[", "{a: ", "- ", "? "] {
        assert!(parsed(&open.repeat(5000)).is_err(), "{open}");
    }
    assert!(parsed(&"a: &b [*b]\n".repeat(5000)).unwrap_err().len() > TRAPS_MAX / 2);
}
