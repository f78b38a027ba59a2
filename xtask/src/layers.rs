//! Check of the allowed dependencies between crates.
//!
//! The rules are the tables at the top. Direct edges come from the manifests (`cargo metadata`), edges
//! between third-party crates from `Cargo.lock`, so the check needs no network. Dev-dependencies are free:
//! tests may use any crate.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use anyhow::{Context, Result, bail};

use crate::workspace::{Package, Workspace};

const MODEL: &str = "jackfield-model";
const CORE: &str = "jackfield-core";
const WIRE: &str = "jackfield-wire";
const KIT: &str = "jackfield-kit";
const PEER: &str = "jackfield-peer";
const REGISTRY: &str = "jackfield-registry";
const SIDECAR: &str = "jackfield-sidecar";
const P2P: &str = "jackfield-p2p";
const BRIDGE: &str = "jackfield-bridge";
const A2A: &str = "jackfield-a2a";
const SDK: &str = "jackfield-sdk";
const TRANSFER: &str = "jackfield-transfer";
const CONNECT: &str = "jackfield-connect";
const STORE: &str = "jackfield-store";

/// Folder of the doors. Every package below is a door, except the kit.
const DOORS: &str = "crates/doors/";

/// Third-party crates reserved for one package: (crate name or prefix; the package; reason).
const RESERVED: [(&str, &str, &str); 3] = [
    ("rusqlite", STORE, "SQLite is the store's affair"),
    ("libsqlite3-sys", STORE, "SQLite is the store's affair"),
    ("libp2p", PEER, "libp2p is the peer's affair"),
];

/// Workspace crates that a package may use only as optional dependencies: (package; the crates; reason).
const BEHIND_FEATURES: [(&str, &[&str], &str); 3] = [
    (
        SDK,
        &[CORE, KIT, A2A],
        "the SDK knows more than wire only behind its features: make it an optional dependency",
    ),
    (
        CONNECT,
        &[CORE, A2A],
        "connect has a hub of its own only to dial A2A servers: make it an optional dependency",
    ),
    (
        TRANSFER,
        &[CORE, KIT],
        "the ends of a transfer know no hub: make it an optional dependency",
    ),
];

/// Crates that a package may not depend on, even indirectly: (package; the crates; reason).
const UNREACHABLE: [(&str, &[&str], &str); 4] = [
    (CORE, &["hyper", "tungstenite"], "the core has no sockets"),
    (MODEL, &["tokio"], "the nouns need no runtime"),
    (WIRE, &["tokio"], "wire types need no runtime"),
    (
        SDK,
        &[STORE, "rusqlite", "libp2p"],
        "the SDK must stay light for programs that only want to be an agent",
    ),
];

/// Dependencies by package name; versions are not distinguished.
type Graph = BTreeMap<String, BTreeSet<String>>;

/// Checks a [`Workspace`]. The error lists every edge that breaks a rule.
pub(crate) fn check(workspace: &Workspace) -> Result<()> {
    let lock_file = workspace.root.join("Cargo.lock");
    let lock = if lock_file.is_file() {
        std::fs::read_to_string(lock_file).context("Cargo.lock cannot be read")?
    } else {
        String::new()
    };
    let broken = broken_rules(&workspace.packages, &lock);
    if !broken.is_empty() {
        bail!(
            "the crates do not keep to their layers (docs/architecture.md):\n  {}",
            broken.join("\n  ")
        );
    }
    Ok(())
}

fn broken_rules(packages: &[Package], lock: &str) -> Vec<String> {
    let mut broken = Vec::new();
    for package in packages {
        for dependency in &package.dependencies {
            if let Some(why) = forbidden_reason(package, dependency, packages) {
                broken.push(format!("{} -> {dependency}: {why}", package.name));
            }
        }
    }
    let graph = graph(packages, lock);
    for (package, unwanted, why) in UNREACHABLE {
        for path in paths(&graph, package, unwanted) {
            let path = path.join(" -> ");
            // The direct rules above may have reported the same edge already.
            if !broken
                .iter()
                .any(|line| line.starts_with(&format!("{path}:")))
            {
                broken.push(format!("{path}: {why}"));
            }
        }
    }
    broken
}

/// Returns why the manifest of `package` may not name `dependency`; `None` if allowed.
fn forbidden_reason(package: &Package, dependency: &str, packages: &[Package]) -> Option<String> {
    let is_ours = packages.iter().any(|member| member.name == dependency);
    if is_ours
        && let Some((known, why)) = allowed_dependencies(package)
        && !known.contains(&dependency)
    {
        return Some(why.to_owned());
    }
    if !package.optional.iter().any(|name| name == dependency)
        && let Some((_, _, why)) = BEHIND_FEATURES
            .iter()
            .find(|(name, hidden, _)| package.name == *name && hidden.contains(&dependency))
    {
        return Some((*why).to_owned());
    }
    RESERVED
        .iter()
        .find(|(owned, user, _)| is_in_family(dependency, owned) && package.name != *user)
        .map(|(_, user, why)| format!("{why}, only {user} may use it"))
}

/// Returns the workspace members that a package may name, with the reason; `None` for packages without such a
/// rule.
fn allowed_dependencies(package: &Package) -> Option<(&'static [&'static str], &'static str)> {
    match package.name.as_str() {
        MODEL | WIRE => Some((&[], "model and wire know no other crate of ours")),
        CORE => Some((&[MODEL], "the core knows the model only")),
        TRANSFER => Some((
            &[MODEL, CORE, KIT],
            "transfer knows the model, and behind its feature core and kit",
        )),
        KIT => Some((&[MODEL, CORE], "the kit knows model and core only")),
        STORE => Some((&[MODEL, CORE], "the store knows model and core only")),
        SDK => Some((
            &[MODEL, WIRE, CORE, KIT, A2A],
            "the SDK knows model and wire, and behind its features core, kit and the A2A door",
        )),
        CONNECT => Some((
            &[MODEL, SDK, WIRE, KIT, TRANSFER, CORE, A2A],
            "connect knows model, the SDK, wire, kit and transfer, and behind its feature core and the A2A door",
        )),
        PEER => Some((
            &[MODEL, WIRE, KIT],
            "the peer knows model, wire and kit, and no hub",
        )),
        REGISTRY => Some((
            &[MODEL, CORE, KIT, PEER],
            "the registry knows model, core, kit and the peer only",
        )),
        SIDECAR => Some((
            &[MODEL, KIT, PEER],
            "the sidecar knows model, kit and the peer, and no hub",
        )),
        P2P => Some((
            &[MODEL, CORE, KIT, PEER, REGISTRY, SIDECAR],
            "the p2p door knows model, core, kit, the peer, the registry and the sidecar only",
        )),
        BRIDGE => Some((
            &[MODEL, CORE, WIRE, KIT, TRANSFER],
            "the bridge door knows model, core, wire, kit and transfer only",
        )),
        _ if package.folder.starts_with(DOORS) => Some((
            &[MODEL, CORE, WIRE, KIT],
            "a door knows model, core, wire and kit only, never another door",
        )),
        _ => None,
    }
}

fn is_in_family(name: &str, family: &str) -> bool {
    name.strip_prefix(family)
        .is_some_and(|rest| rest.is_empty() || rest.starts_with('-'))
}

/// Returns the [`Graph`] of workspace members, by their manifests (without dev-dependencies), and of all
/// other crates, by the lock file.
fn graph(packages: &[Package], lock: &str) -> Graph {
    let mut graph = graph_from_lock(lock);
    for package in packages {
        graph.insert(
            package.name.clone(),
            package.dependencies.iter().cloned().collect(),
        );
    }
    graph
}

/// Reads the [`Graph`] from the lock file's fixed form: `name = "…"` and the list `dependencies = [ … ]`.
fn graph_from_lock(lock: &str) -> Graph {
    let mut graph = Graph::new();
    let mut name = None;
    for line in lock.lines() {
        let line = line.trim();
        if let Some(quoted) = line.strip_prefix("name = ") {
            let package = quoted.trim_matches('"').to_owned();
            graph.entry(package.clone()).or_default();
            name = Some(package);
        } else if line == "[[package]]" {
            name = None;
        } else if let Some(entry) = line.strip_prefix('"')
            && let Some(dependencies) = name.as_ref().and_then(|name| graph.get_mut(name))
        {
            // `"name",`, or `"name 1.2.3",` if several versions are in use.
            let end = entry.find([' ', '"']).unwrap_or(entry.len());
            dependencies.insert(entry[..end].to_owned());
        }
    }
    graph
}

/// Returns a shortest path from `start` to each reachable crate of the `unwanted` families. The search does
/// not continue behind an unwanted crate.
fn paths(graph: &Graph, start: &str, unwanted: &[&str]) -> Vec<Vec<String>> {
    let mut found = Vec::new();
    let mut seen = BTreeSet::from([start]);
    let mut queue = VecDeque::from([vec![start]]);
    while let Some(path) = queue.pop_front() {
        let Some(dependencies) = path.last().and_then(|last| graph.get(*last)) else {
            continue;
        };
        for dependency in dependencies {
            if !seen.insert(dependency) {
                continue;
            }
            let mut longer = path.clone();
            longer.push(dependency);
            if unwanted
                .iter()
                .any(|family| is_in_family(dependency, family))
            {
                found.push(longer.into_iter().map(str::to_owned).collect());
            } else {
                queue.push_back(longer);
            }
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    fn package(folder: &str, name: &str, dependencies: &[&str]) -> Package {
        Package {
            name: name.to_owned(),
            folder: folder.to_owned(),
            dependencies: dependencies.iter().map(|&name| name.to_owned()).collect(),
            optional: Vec::new(),
        }
    }

    /// Returns the SDK with these dependencies besides wire, some of them behind a feature.
    fn sdk(dependencies: &[&str], optional: &[&str]) -> Package {
        let all: Vec<&str> = [&[WIRE], dependencies, optional].concat();
        Package {
            optional: optional.iter().map(|&name| name.to_owned()).collect(),
            ..package("crates/sdk", SDK, &all)
        }
    }

    /// Returns a workspace that follows the rules, with one package replaced.
    fn with(changed: Package) -> Vec<Package> {
        let mut packages = vec![
            package("crates/core", CORE, &["tokio"]),
            package("crates/wire", WIRE, &["serde"]),
            package("crates/doors/kit", KIT, &[CORE, "axum"]),
            package("crates/doors/agora", "jackfield-agora", &[CORE, WIRE, KIT]),
            package("crates/doors/own", "jackfield-own", &[CORE, WIRE, KIT]),
            package("crates/doors/a2a", A2A, &[CORE, WIRE, KIT]),
            package("crates/peer", PEER, &[MODEL, WIRE, KIT, "libp2p"]),
            package("crates/registry", REGISTRY, &[CORE, KIT, PEER]),
            package("crates/sidecar", SIDECAR, &[KIT, PEER]),
            package(
                "crates/doors/p2p",
                P2P,
                &[CORE, KIT, PEER, REGISTRY, SIDECAR],
            ),
            package("crates/store", STORE, &[CORE, "rusqlite"]),
            package("crates/sdk", SDK, &[WIRE, "tokio"]),
            package("crates/transfer", TRANSFER, &["str0m", "tokio"]),
            package(
                "crates/cli",
                "jackfield",
                &[CORE, KIT, STORE, "jackfield-agora"],
            ),
        ];
        packages.retain(|package| package.name != changed.name);
        packages.push(changed);
        packages
    }

    #[test]
    fn a_workspace_in_layers_passes() {
        let packages = with(package(
            "crates/bench",
            "jackfield-bench",
            &["jackfield-agora"],
        ));
        assert_eq!(broken_rules(&packages, ""), [""; 0]);
    }

    #[test]
    fn core_and_wire_know_nobody() {
        let packages = with(package("crates/core", CORE, &[WIRE]));
        assert_eq!(
            broken_rules(&packages, ""),
            ["jackfield-core -> jackfield-wire: the core knows the model only"]
        );
    }

    #[test]
    fn a_door_knows_no_other_door_and_no_store() {
        let packages = with(package(
            "crates/doors/own",
            "jackfield-own",
            &[KIT, "jackfield-agora", STORE],
        ));
        assert_eq!(
            broken_rules(&packages, ""),
            [
                "jackfield-own -> jackfield-agora: a door knows model, core, wire and kit only, never another door",
                "jackfield-own -> jackfield-store: a door knows model, core, wire and kit only, never another door",
            ]
        );
    }

    #[test]
    fn the_kit_knows_no_door() {
        let packages = with(package("crates/doors/kit", KIT, &[CORE, "jackfield-own"]));
        assert_eq!(
            broken_rules(&packages, ""),
            ["jackfield-kit -> jackfield-own: the kit knows model and core only"]
        );
    }

    #[test]
    fn the_peer_and_the_sidecar_know_no_hub() {
        for (folder, name, why) in [
            (
                "crates/peer",
                PEER,
                "the peer knows model, wire and kit, and no hub",
            ),
            (
                "crates/sidecar",
                SIDECAR,
                "the sidecar knows model, kit and the peer, and no hub",
            ),
        ] {
            let packages = with(package(folder, name, &[KIT, CORE]));
            assert_eq!(
                broken_rules(&packages, ""),
                [format!("{name} -> jackfield-core: {why}")]
            );
        }
    }

    #[test]
    fn transfer_knows_the_model_and_a_hub_behind_its_feature_only() {
        let transfer = |dependencies: &[&str], optional: &[&str]| Package {
            optional: optional.iter().map(|&name| name.to_owned()).collect(),
            ..package(
                "crates/transfer",
                TRANSFER,
                &[dependencies, optional].concat(),
            )
        };
        let packages = with(transfer(&[MODEL], &[CORE, KIT]));
        assert_eq!(broken_rules(&packages, ""), [""; 0]);
        let packages = with(transfer(&["tokio", WIRE, CORE], &[]));
        assert_eq!(
            broken_rules(&packages, ""),
            [
                "jackfield-transfer -> jackfield-wire: transfer knows the model, and behind its feature core and kit",
                "jackfield-transfer -> jackfield-core: the ends of a transfer know no hub: make it an optional dependency",
            ]
        );
    }

    #[test]
    fn the_bridge_door_alone_knows_the_transfers() {
        let packages = with(package("crates/doors/bridge", BRIDGE, &[KIT, TRANSFER]));
        assert_eq!(broken_rules(&packages, ""), [""; 0]);
        let packages = with(package("crates/doors/own", "jackfield-own", &[TRANSFER]));
        assert_eq!(
            broken_rules(&packages, ""),
            [
                "jackfield-own -> jackfield-transfer: a door knows model, core, wire and kit only, never another door"
            ]
        );
    }

    #[test]
    fn sqlite_is_used_by_the_store_alone() {
        let packages = with(package("crates/cli", "jackfield", &["rusqlite"]));
        assert_eq!(
            broken_rules(&packages, ""),
            [
                "jackfield -> rusqlite: SQLite is the store's affair, only jackfield-store may use it"
            ]
        );
    }

    #[test]
    fn every_crate_of_the_libp2p_family_belongs_to_the_peer() {
        let packages = with(package("crates/cli", "jackfield", &["libp2p-identity"]));
        assert_eq!(
            broken_rules(&packages, ""),
            [
                "jackfield -> libp2p-identity: libp2p is the peer's affair, only jackfield-peer may use it"
            ]
        );
    }

    #[test]
    fn the_sdk_does_not_reach_the_store_through_a_neighbour() {
        let packages = with(package("crates/sdk", SDK, &["jackfield"]));
        assert_eq!(
            broken_rules(&packages, ""),
            [
                "jackfield-sdk -> jackfield: the SDK knows model and wire, and behind its features core, kit and the A2A door",
                "jackfield-sdk -> jackfield -> jackfield-store: the SDK must stay light for programs that only want to be an agent",
            ]
        );
    }

    #[test]
    fn the_sdk_knows_core_kit_and_the_a2a_door_behind_features_only() {
        let packages = with(sdk(&[], &[CORE, KIT, A2A]));
        assert_eq!(broken_rules(&packages, ""), [""; 0]);
        let packages = with(sdk(&[CORE], &[A2A, "jackfield-own"]));
        assert_eq!(
            broken_rules(&packages, ""),
            [
                "jackfield-sdk -> jackfield-core: the SDK knows more than wire only behind its features: make it an optional dependency",
                "jackfield-sdk -> jackfield-own: the SDK knows model and wire, and behind its features core, kit and the A2A door",
            ]
        );
    }

    #[test]
    fn connect_knows_no_door_but_the_one_that_dials_and_that_behind_its_feature() {
        let connect = |dependencies: &[&str], optional: &[&str]| {
            let all: Vec<&str> = [&[SDK, WIRE, KIT, TRANSFER], dependencies, optional].concat();
            Package {
                optional: optional.iter().map(|&name| name.to_owned()).collect(),
                ..package("crates/connect", CONNECT, &all)
            }
        };
        let packages = with(connect(&[], &[CORE, A2A]));
        assert_eq!(broken_rules(&packages, ""), [""; 0]);
        let packages = with(connect(&[A2A, "jackfield-own"], &[]));
        assert_eq!(
            broken_rules(&packages, ""),
            [
                "jackfield-connect -> jackfield-a2a: connect has a hub of its own only to dial A2A servers: make it an optional dependency",
                "jackfield-connect -> jackfield-own: connect knows model, the SDK, wire, kit and transfer, and behind its feature core and the A2A door",
            ]
        );
    }

    #[test]
    fn what_lies_behind_a_feature_is_reached_too() {
        let mut packages = with(sdk(&[], &[A2A]));
        packages.retain(|package| package.name != A2A);
        packages.push(package("crates/doors/a2a", A2A, &[CORE, "rusqlite"]));
        let broken = broken_rules(&packages, "").join("\n");
        assert!(
            broken.contains("jackfield-sdk -> jackfield-a2a -> rusqlite: "),
            "{broken}"
        );
    }

    #[test]
    fn one_wrong_edge_is_named_once() {
        let packages = with(package("crates/sdk", SDK, &["rusqlite"]));
        assert_eq!(broken_rules(&packages, "").len(), 1);
    }

    #[test]
    fn the_lock_file_shows_what_lies_behind_the_crates_of_others() {
        let lock = r#"
[[package]]
name = "handy"
version = "1.0.0"
dependencies = [
 "serde",
 "tokio 1.54.0",
]

[[package]]
name = "tokio"
version = "1.54.0"
"#;
        let packages = with(package("crates/wire", WIRE, &["handy"]));
        assert_eq!(
            broken_rules(&packages, lock),
            ["jackfield-wire -> handy -> tokio: wire types need no runtime"]
        );
    }

    #[test]
    fn tests_of_a_member_may_use_what_they_like() {
        // The lock file does not distinguish dev-dependencies; the manifest's list, which omits them,
        // decides.
        let lock = "[[package]]\nname = \"jackfield-wire\"\ndependencies = [\n \"tokio\",\n]\n";
        let packages = with(package("crates/wire", WIRE, &["serde"]));
        assert_eq!(broken_rules(&packages, lock), [""; 0]);
    }
}
