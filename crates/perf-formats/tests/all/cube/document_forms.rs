//! Tests of equivalent documents, call trees and grids of any form, and damage with its place.

use super::archive_bytes::{archive, data, index, member, read, row};
use perf_core::{CallPathId, CartMembers, Job, MetricId, Profile};
use perf_formats::cube::{Cube, rules};
use perf_formats::{Error, OpenOptions};

fn element(name: &str, text: &str) -> String {
    format!("<{name}>{text}</{name}>\n")
}

/// Returns an anchor with all kinds of elements, as the reference library writes it: many elements
/// repeat the previous one, some do not.
fn document() -> String {
    let mut regions = String::new();
    for at in 0..12 {
        let name = format!("f&lt;{}&gt;", at / 2);
        regions += &format!("<region id=\"{at}\" mod=\"a&amp;b.c\" begin=\"{at}\" end=\"-1\">\n");
        regions += &element("name", &name);
        if at % 4 != 3 {
            regions += &element("mangled_name", &format!("_Z{at}"));
        }
        regions += &element("paradigm", if at < 6 { "mpi" } else { "compiler" });
        regions += &element("role", ["function", "barrier"][usize::from(at == 5)]);
        regions += "<url></url>\n<descr></descr>\n</region>\n";
    }
    let mut groups = String::new();
    for rank in 0..6 {
        groups += &format!("<locationgroup Id=\"{rank}\">\n");
        groups += &element("name", "rank");
        groups += &element("rank", &(rank / 2).to_string());
        let kind = if rank == 4 { "accelerator" } else { "process" };
        groups += &element("type", kind);
        groups += "<attr key=\"host\" value=\"n&quot;1\"/>\n";
        for thread in 0..3 {
            groups += &format!("<location Id=\"{}\">\n", rank * 3 + thread);
            groups += &element(
                "name",
                ["Master thread", "OMP thread"][usize::from(thread > 1)],
            );
            groups += &element("rank", &(thread / 2).to_string());
            if rank != 3 {
                groups += &element("type", ["thread", "gpu"][usize::from(rank == 4)]);
            }
            groups += "</location>\n";
        }
        groups += "</locationgroup>\n";
    }
    format!(
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<cube version=\"4.8\">\n\
         <attr key=\"CLUSTERING\" value=\"OFF\"/>\n<doc>\n<mirrors>\n<murl>x</murl>\n</mirrors>\n</doc>\n\
         <metrics title=\"t\">\n<metric id=\"0\" type=\"EXCLUSIVE\">\n<disp_name>Time</disp_name>\n\
         <uniq_name>time</uniq_name>\n<dtype>DOUBLE</dtype>\n<uom>sec</uom>\n<val></val>\n\
         <url></url>\n<descr>a b  c</descr>\n<metric id=\"1\" type=\"INCLUSIVE\">\n\
         <uniq_name>low</uniq_name>\n<dtype>MINDOUBLE</dtype>\n</metric>\n</metric>\n</metrics>\n\
         <program title=\"p\">\n{regions}<cnode id=\"0\" line=\"1\" mod=\"a.c\" calleeId=\"3\">\n\
         <parameter partype=\"string\" parkey=\"k\" parvalue=\"v\"/>\n\
         <cnode id=\"1\" calleeId=\"7\">\n<attr key=\"a\" value=\"b\"/>\n</cnode>\n</cnode>\n\
         <cnode id=\"2\" calleeId=\"0\">\n</cnode>\n</program>\n<system title=\"s\">\n\
         <systemtreenode Id=\"0\">\n<name>m</name>\n<class>machine</class>\n\
         <systemtreenode Id=\"1\">\n<name>m</name>\n<class>node</class>\n{groups}\
         </systemtreenode>\n</systemtreenode>\n<topologies>\n<cart name=\"g\" ndims=\"2\">\n\
         <dim name=\"x\" size=\"9\" periodic=\"true\"/>\n<dim size=\"2\" periodic=\"false\"/>\n\
         <coord locId=\"0\">0 1</coord>\n<coord locId=\"1\">8 0</coord>\n</cart>\n</topologies>\n\
         </system>\n</cube>\n"
    )
}

/// Formats the complete contents of a document.
fn said(document: &str) -> String {
    let bytes = archive(&[member("anchor.xml", document.as_bytes())]);
    let cube = read(bytes).unwrap_or_else(|error| panic!("{error}\n{document}"));
    assert!(cube.diagnostics().is_empty(), "{:?}", cube.diagnostics());
    let profile = cube.profile();
    let calls = profile.calls();
    let facts = (0..calls.paths().len() as u32).map(|at| calls.properties(CallPathId(at)));
    format!(
        "{:?}\n{:?}\n{:?}\n{:?}\n{:?}\n{:?}\n{:?}",
        profile.system(),
        profile.regions(),
        calls.paths(),
        facts.collect::<Vec<_>>(),
        profile.metrics(),
        profile.topologies(),
        profile.properties(),
    )
}

#[test]
fn one_profile_in_many_words() {
    let plain = document();
    let expected = said(&plain);
    assert!(expected.contains("f<2>") && expected.contains("a&b.c") && expected.contains("n\\\"1"));
    let quoted = |text: &str, to: &str| {
        // Values without blanks and entities need no quotes.
        let mut out = String::new();
        let mut rest = text;
        while let Some((before, after)) = rest.split_once("=\"") {
            let (value, behind) = after.split_once('"').unwrap();
            let is_word = !value.is_empty() && !value.contains([' ', '/', '\'']);
            if is_word {
                out += &format!("{before}={to}{value}{to}")
            } else {
                out += &format!("{before}=\"{value}\"")
            }
            rest = behind;
        }
        out + rest
    };
    let variants = [
        ("on one line", plain.replace('\n', "")),
        ("lines of another system", plain.replace('\n', "\r\n")),
        ("indented", plain.replace("\n<", "\n\t  <")),
        ("blanks around =", plain.replace("=\"", " = \"")),
        (
            "blanks at the end of tags",
            plain.replace("\">", "\" >").replace("\"/>", "\" />"),
        ),
        ("single quotes", quoted(&plain, "'")),
        ("no quotes", quoted(&plain, "").replace("/>", " />")),
        (
            "remarks between all",
            plain.replace(">\n", "><!-- <no> -->\n"),
        ),
        (
            "remarks between fields",
            plain.replace("</name>\n", "</name><!-- & -->\n"),
        ),
        (
            "entities by number",
            plain.replace("&lt;", "&#60;").replace("&quot;", "&#x22;"),
        ),
        (
            "sections",
            plain.replace("<descr>a b  c<", "<descr><![CDATA[a b  c]]><"),
        ),
        (
            "elements from later versions",
            plain.replace("<rank>", "<new a=\"b\"><x/>y</new><rank>"),
        ),
        (
            "other end tags",
            plain
                .replace("</name>", "</name >")
                .replace("</location>", "</location\n>"),
        ),
    ];
    for (what, document) in variants {
        assert_ne!(document, plain, "{what}");
        let said = said(&document);
        assert!(said == expected, "{what}\n{said}\n{expected}");
    }
}

#[test]
fn bare_characters_are_text() {
    let odd = document()
        .replace("&lt;", "&")
        .replace("&amp;", "&")
        .replace("sec", "a & b; &no;");
    let bytes = archive(&[member("anchor.xml", odd.as_bytes())]);
    let cube = read(bytes).unwrap();
    assert_eq!(cube.profile().regions()[0].name, "f&0>");
    assert_eq!(cube.profile().regions()[0].file.as_deref(), Some("a&b.c"));
    assert_eq!(cube.profile().metrics()[0].metric.unit, "a & b; &no;");
    // Invalid UTF-8 is replaced in the affected text only.
    let mut bytes = document().into_bytes();
    let at = bytes.windows(3).position(|three| three == b"_Z5").unwrap();
    bytes[at + 1] = 0xff;
    let cube = read(archive(&[member("anchor.xml", &bytes)])).unwrap();
    assert_eq!(cube.profile().regions()[5].canonical, "_\u{fffd}5");
    assert_eq!(cube.profile().regions()[6].canonical, "_Z6");
}

/// Returns call paths from (id, index of parent), in the order of the document, which is depth
/// first.
fn tree(nodes: &[(u32, u32)]) -> String {
    let mut text = String::new();
    let mut open = 0;
    for (id, depth) in nodes {
        text += &"</cnode>".repeat((open - depth) as usize);
        text += &format!("<cnode id=\"{id}\" calleeId=\"0\">");
        open = depth + 1;
    }
    text + &"</cnode>".repeat(open as usize)
}

/// Returns a metric of each type with a row for every call path. Its value is the row number.
fn numbered(nodes: &[(u32, u32)]) -> Cube {
    let kinds = ["EXCLUSIVE", "INCLUSIVE", "SIMPLE"];
    let metrics = (0..).zip(kinds).map(|(id, kind)| {
        format!(
            "<metric id=\"{id}\" type=\"{kind}\"><uniq_name>m{id}</uniq_name>\
             <dtype>DOUBLE</dtype></metric>"
        )
    });
    let anchor = format!(
        "<cube version=\"4.5\"><metrics>{}</metrics><program><region id=\"0\"><name>r</name></region>\
         {}</program><system><machine Id=\"0\"><node Id=\"0\"><process Id=\"0\"><thread Id=\"0\"/>\
         </process></node></machine></system></cube>",
        metrics.collect::<String>(),
        tree(nodes)
    );
    let rows: Vec<u32> = (0..nodes.len() as u32).collect();
    let values: Vec<f64> = rows.iter().map(|row| f64::from(*row)).collect();
    let mut members = vec![member("anchor.xml", anchor.as_bytes())];
    for id in 0..3 {
        members.push(member(&format!("{id}.data"), &data(&values)));
        members.push(member(&format!("{id}.index"), &index(&rows)));
    }
    read(archive(&members)).unwrap()
}

#[test]
fn rows_are_numbered_by_the_type_of_the_metric() {
    // Three roots; ids have gaps and do not follow the order of the document.
    let up = [
        (1, 0),
        (4, 1),
        (9, 2),
        (6, 1),
        (7, 2),
        (2, 0),
        (0, 0),
        (3, 1),
    ];
    // In addition, a parent has a higher id than its child.
    let down = [
        (5, 0),
        (4, 1),
        (9, 2),
        (1, 1),
        (7, 2),
        (2, 0),
        (8, 0),
        (3, 1),
    ];
    for (nodes, wide, defined) in [
        (up, [1, 4, 6, 9, 7, 2, 0, 3], [0, 1, 2, 3, 4, 6, 7, 9]),
        (down, [5, 4, 1, 9, 7, 2, 8, 3], [1, 2, 3, 4, 5, 7, 8, 9]),
    ] {
        let cube = numbered(&nodes);
        let deep = nodes.map(|(id, _)| id);
        let count = nodes.len() as u32;
        for (metric, order) in [(0, deep), (1, wide), (2, defined)] {
            for path in 0..count {
                let id = cube.cnode_id(CallPathId(path)).unwrap();
                let number = order.iter().position(|own| u64::from(*own) == id).unwrap();
                let value = row(&cube, metric, path).unwrap();
                assert_eq!(value, [number as f64], "metric {metric}, call path {id}");
            }
        }
        let roots = cube.profile().calls().children(None).count();
        assert_eq!(roots, 3);
    }
}

fn cart(name: &str, dims: &[(u32, bool)], coordinates: &str) -> String {
    let dims = dims
        .iter()
        .map(|(size, periodic)| format!("<dim size=\"{size}\" periodic=\"{periodic}\"/>"));
    let count = dims.len();
    let dims: String = dims.collect();
    format!("<cart name=\"{name}\" ndims=\"{count}\">{dims}{coordinates}</cart>")
}

fn with_topologies(carts: &str, system: &str) -> Cube {
    let anchor = format!(
        "<cube version=\"4.0\"><metrics></metrics><program></program><system>{system}\
         <topologies>{carts}</topologies></system></cube>"
    );
    read(archive(&[member("anchor.xml", anchor.as_bytes())])).unwrap()
}

const TREE: &str = "<systemtreenode Id=\"3\"><locationgroup Id=\"5\"><location Id=\"0\"/>\
                    <location Id=\"1\"/></locationgroup></systemtreenode>";

#[test]
fn grids_of_any_form() {
    let nine = [
        (2, true),
        (1, false),
        (3, true),
        (1, true),
        (1, true),
        (2, false),
        (1, true),
        (1, true),
        (4, true),
    ];
    let many = [(1, false); 20];
    let carts = [
        cart(
            "nine &lt;d&gt;",
            &nine,
            "<coord locId=\"0\">1 0 2 0 0 1 0 0 3</coord>\
              <coord locId=\"1\">0 0 0 0 0 0 0 0 0</coord>",
        ),
        cart("processes", &[(7, true)], "<coord lgId=\"5\"> 6\n</coord>"),
        cart(
            "nodes",
            &[(1, false), (2, false)],
            "<coord stnId=\"3\">0 1</coord>",
        ),
        cart(
            "twenty",
            &many,
            &format!("<coord locId=\"0\">{}</coord>", "0 ".repeat(20)),
        ),
        cart("", &[(2, true)], ""),
    ];
    let cube = with_topologies(&carts.concat(), TREE);
    assert!(cube.diagnostics().is_empty(), "{:?}", cube.diagnostics());
    let all = cube.profile().topologies();
    let of: Vec<_> = all
        .iter()
        .map(|cart| (cart.name.as_str(), cart.of, cart.dimensions.len()))
        .collect();
    assert_eq!(
        of,
        [
            ("nine <d>", CartMembers::Locations, 9),
            ("processes", CartMembers::Groups, 1),
            ("nodes", CartMembers::Nodes, 2),
            ("twenty", CartMembers::Locations, 20),
            ("", CartMembers::Locations, 1),
        ]
    );
    let sizes: Vec<_> = all[0]
        .dimensions
        .iter()
        .map(|axis| (axis.size, axis.periodic))
        .collect();
    assert_eq!(sizes, nine);
    assert_eq!(all[0].coordinates[0], (0, vec![1, 0, 2, 0, 0, 1, 0, 0, 3]));
    assert_eq!(all[1].coordinates, [(0, vec![6])]);
    // The keys of Cube3, which numbers machines and nodes separately.
    let old = "<machine Id=\"0\"><node Id=\"0\"><process Id=\"0\"><thread Id=\"0\"/></process></node></machine>";
    let grids = ["thrdId", "procId", "nodeId", "machId"]
        .map(|key| cart(key, &[(2, false)], &format!("<coord {key}=\"0\">1</coord>")));
    let cube = with_topologies(&grids.concat(), old);
    let at = |profile: &Profile, at: usize| {
        (
            profile.topologies()[at].of,
            profile.topologies()[at].coordinates.clone(),
        )
    };
    let one = |id| vec![(id, vec![1])];
    assert_eq!(at(cube.profile(), 0), (CartMembers::Locations, one(0)));
    assert_eq!(at(cube.profile(), 1), (CartMembers::Groups, one(0)));
    // The machine is node 0 of the tree, the node in it node 1.
    assert_eq!(at(cube.profile(), 2), (CartMembers::Nodes, one(1)));
    assert_eq!(at(cube.profile(), 3), (CartMembers::Nodes, one(0)));
    // Too few and too many numbers, one past the end, words, an unknown id, and a missing key.
    let bad = "<coord locId=\"0\">1</coord><coord locId=\"0\">1 1 1</coord><coord locId=\"0\">2 0</coord>\
               <coord locId=\"0\">a b</coord><coord locId=\"7\">0 0</coord><coord>0 0</coord>\
               <coord locId=\"1\">1 1</coord>";
    let cube = with_topologies(&cart("bad", &[(2, true), (2, true)], bad), TREE);
    assert_eq!(cube.diagnostics().count(rules::BAD_COORDINATES), 5);
    assert_eq!(cube.diagnostics().count(rules::UNRESOLVED), 1);
    assert_eq!(
        cube.profile().topologies()[0].coordinates,
        [(1, vec![1, 1])]
    );
}

/// Returns an archive of one compressed metric with two rows, split at the streams.
fn packed() -> (Vec<u8>, Vec<u8>) {
    let mut streams = Vec::new();
    let mut table = Vec::new();
    for (at, values) in [[1.0_f64], [2.0]].iter().enumerate() {
        use std::io::Write;
        let level = flate2::Compression::fast();
        let mut encoder = flate2::write::ZlibEncoder::new(Vec::new(), level);
        values
            .iter()
            .for_each(|value| encoder.write_all(&value.to_le_bytes()).unwrap());
        let stream = encoder.finish().unwrap();
        let entry = [at * 8, streams.len(), stream.len()];
        table.extend(
            entry
                .into_iter()
                .flat_map(|number| (number as u64).to_le_bytes()),
        );
        streams.extend(stream);
    }
    let mut head = b"ZCUBEX.DATA".to_vec();
    head.extend(2_u64.to_le_bytes());
    head.extend(table);
    (head, streams)
}

const SMALL: &str = "<cube version=\"4.4\"><metrics><metric id=\"0\" type=\"EXCLUSIVE\">\
    <uniq_name>m</uniq_name><dtype>DOUBLE</dtype></metric></metrics><program>\
    <region id=\"0\"><name>r</name></region><cnode id=\"0\" calleeId=\"0\">\
    <cnode id=\"1\" calleeId=\"0\"/></cnode></program><system><systemtreenode Id=\"0\">\
    <locationgroup Id=\"0\"><location Id=\"0\"/></locationgroup></systemtreenode></system></cube>";

fn small_archive(index: &[u8], data: &[u8]) -> Vec<u8> {
    let anchor = member("anchor.xml", SMALL.as_bytes());
    archive(&[member("0.index", index), member("0.data", data), anchor])
}

fn small(index: &[u8], data: &[u8]) -> Result<Cube, Error> {
    read(small_archive(index, data))
}

#[test]
fn damage_in_packed_rows_is_found_and_located() {
    let (head, streams) = packed();
    let both = index(&[0, 1]);
    let whole = small(&both, &[head.clone(), streams.clone()].concat()).unwrap();
    assert_eq!(row(&whole, 0, 1), Some(vec![2.0]));
    // An invalid stream: its row is an error with its place, the other row is readable.
    let mut broken = [head.clone(), streams.clone()].concat();
    broken[head.len() + 2] ^= 0xff;
    let cube = small(&both, &broken).unwrap();
    let error = cube.profile().row(MetricId(0), CallPathId(0)).unwrap_err();
    assert!(error.to_string().contains("test.cubex"), "{error}");
    let text = format!("{error:?}");
    assert!(text.contains(", byte "), "{text}");
    assert_eq!(row(&cube, 0, 1), Some(vec![2.0]));
    // A row whose size does not match the number of locations.
    let mut short = head.clone();
    short[19..27].copy_from_slice(&0_u64.to_le_bytes());
    short[43..51].copy_from_slice(&16_u64.to_le_bytes());
    let cube = small(&both, &[short, streams.clone()].concat()).unwrap();
    assert_eq!(row(&cube, 0, 0), Some(vec![1.0]));
    assert_eq!(row(&cube, 0, 1), None);
    assert_eq!(cube.diagnostics().count(rules::MISSING_ENTRIES), 1);
    assert_eq!(cube.diagnostics().count(rules::STRAY_ENTRIES), 1);
    // Two entries for the first row, none for the second.
    let mut twice = head.clone();
    twice[43..51].copy_from_slice(&0_u64.to_le_bytes());
    let bytes = [twice, streams.clone()].concat();
    let cube = small(&both, &bytes).unwrap();
    assert_eq!(row(&cube, 0, 0), Some(vec![2.0]));
    assert_eq!(row(&cube, 0, 1), None);
    assert_eq!(cube.diagnostics().count(rules::DUPLICATE_ENTRIES), 1);
    assert_eq!(cube.diagnostics().count(rules::MISSING_ENTRIES), 1);
    assert_eq!(cube.diagnostics().repairs(), 2);
    let strict = OpenOptions::new().strict(true);
    let bytes = small_archive(&both, &bytes);
    let refused = Cube::from_bytes(bytes, "test.cubex", &strict, &Job::default());
    assert!(matches!(refused, Err(Error::Strict { .. })));
    // Size 0 means no row; a stream past the end is counted.
    let mut none = head.clone();
    none[35..43].copy_from_slice(&0_u64.to_le_bytes());
    let cube = small(&both, &[none, streams.clone()].concat()).unwrap();
    assert_eq!(
        (row(&cube, 0, 0), row(&cube, 0, 1)),
        (None, Some(vec![2.0]))
    );
    let mut past = head.clone();
    past[51..59].copy_from_slice(&u64::MAX.to_le_bytes());
    let cube = small(&both, &[past, streams.clone()].concat()).unwrap();
    assert_eq!(cube.diagnostics().count(rules::MISSING_ROWS), 1);
    assert_eq!(row(&cube, 0, 0), Some(vec![1.0]));
    // More entries than the member can hold.
    let mut huge = head;
    huge[11..19].copy_from_slice(&u64::MAX.to_le_bytes());
    let error = small(&both, &[huge, streams].concat()).unwrap_err();
    assert!(matches!(error, Error::Truncated { .. }), "{error}");
    assert!(error.to_string().contains("0.data"), "{error}");
}

#[test]
fn members_of_wrong_sizes_and_sums() {
    let members = [
        member("0.index", &index(&[0, 1])),
        member("0.data", &data(&[1.0, 2.0])),
        member("anchor.xml", SMALL.as_bytes()),
    ];
    // A wrong checksum is counted for each member, and the contents are unchanged.
    let mut wrong = members.clone();
    wrong.iter_mut().for_each(|member| member[148] ^= 1);
    let cube = read(archive(&wrong)).unwrap();
    assert_eq!(cube.diagnostics().count(rules::CHECKSUM), 3);
    assert_eq!(row(&cube, 0, 1), Some(vec![2.0]));
    // The error for a size past the end of the file contains the member and the end.
    let mut long = members.clone();
    long[1][124..135].copy_from_slice(b"77777777777");
    let error = read(archive(&long)).unwrap_err();
    assert!(matches!(error, Error::Truncated { .. }), "{error}");
    assert!(error.to_string().contains("0.data"), "{error}");
    // If a size is too small, a part of the member or zeros follow in place of a header.
    let mut short = members.clone();
    short[2][124..135].copy_from_slice(b"00000000010");
    let error = read(archive(&short)).unwrap_err();
    assert!(
        error.place().is_some_and(|place| place.offset.is_some()),
        "{error}"
    );
    let mut odd = members.clone();
    odd[0][124..135].copy_from_slice(b"not a size!");
    let error = read(archive(&odd)).unwrap_err();
    assert!(matches!(error, Error::Malformed { .. }), "{error}");
    assert_eq!(error.place().unwrap().offset, Some(0), "{error}");
    // Two members with the same name.
    let twice = [&members[..], &members[..1]].concat();
    let cube = read(archive(&twice)).unwrap();
    assert_eq!(cube.diagnostics().count(rules::DUPLICATE_MEMBER), 1);
    // Truncation at any byte yields an error with its place, or valid rows.
    let whole = archive(&members);
    for end in 0..whole.len() {
        match read(whole[..end].to_vec()) {
            Err(error) => {
                let place = error.place();
                assert!(
                    place.is_some_and(|place| !place.file.is_empty()),
                    "{end}: {error}"
                );
            }
            Ok(cube) => {
                // Only the blocks of zeros after the anchor are missing.
                assert!(end >= members.concat().len() - 512, "{end}");
                assert_eq!(row(&cube, 0, 0), Some(vec![1.0]), "{end}");
            }
        }
    }
    let strict = OpenOptions::new().strict(true);
    let refused = Cube::from_bytes(archive(&twice), "test.cubex", &strict, &Job::default());
    assert!(matches!(refused, Err(Error::Strict { .. })));
}
