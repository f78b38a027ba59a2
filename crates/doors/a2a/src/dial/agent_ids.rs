//! Agent ids derived from the names of remotes.

use std::collections::BTreeSet;

use jackfield_model::AgentId;

/// Longest agent id that is derived from a name.
const LONGEST_NAME: usize = 64;

/// A remote that gets an id: its name, and what tells it apart from others of the same name on its server.
#[derive(Debug, Clone, Copy)]
pub(super) struct NamedRemote<'a> {
    pub(super) name: &'a str,
    pub(super) key: &'a str,
}

/// Derives an id from the first name that has letters or digits: lower-case letters, digits and dashes, with a
/// number if the id is taken.
pub(super) fn id_of<N: AsRef<str>>(names: &[N], is_taken: impl Fn(&str) -> bool) -> AgentId {
    let slugs = names.iter().map(|name| slug(name.as_ref()));
    let slug = slugs.into_iter().find(|slug| !slug.is_empty());
    let slug = slug.unwrap_or_else(|| "remote".to_owned());
    let numbered = (2_u64..).map(|number| format!("{slug}-{number}"));
    std::iter::once(slug.clone())
        .chain(numbered)
        .filter(|id| !is_taken(id))
        .find_map(|id| AgentId::parse(&id).ok())
        .expect("letters, digits and dashes make an id, and numbers do not end")
}

/// Derives an id for each remote of a server. Remotes that share a name get their key behind it, all of them: the
/// order of the server's list does not matter.
pub(super) fn ids_of(remotes: &[NamedRemote<'_>], is_taken: impl Fn(&str) -> bool) -> Vec<AgentId> {
    let mut given = BTreeSet::new();
    let slugs: Vec<_> = remotes.iter().map(|remote| slug(remote.name)).collect();
    let ids = remotes.iter().zip(&slugs).map(|(remote, own)| {
        let is_shared = slugs.iter().filter(|slug| *slug == own).count() > 1;
        let name = match is_shared && slug(remote.key) != *own {
            true => format!("{} {}", remote.name, remote.key),
            false => remote.name.to_owned(),
        };
        let names = [name.as_str(), remote.key];
        let id = id_of(&names, |id| given.contains(id) || is_taken(id));
        given.insert(id.to_string());
        id
    });
    ids.collect()
}

fn slug(name: &str) -> String {
    let words = name.split(|letter: char| !letter.is_ascii_alphanumeric());
    let words: Vec<_> = words.filter(|word| !word.is_empty()).collect();
    let mut slug = words.join("-").to_ascii_lowercase();
    slug.truncate(LONGEST_NAME);
    slug.trim_end_matches('-').to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn id(names: &[&str], taken: &[&str]) -> String {
        id_of(names, |id| taken.contains(&id)).to_string()
    }

    fn ids(remotes: &[(&str, &str)], taken: &[&str]) -> Vec<String> {
        let remotes: Vec<_> = remotes
            .iter()
            .map(|(name, key)| NamedRemote { name, key })
            .collect();
        let ids = ids_of(&remotes, |id| taken.contains(&id));
        ids.iter().map(ToString::to_string).collect()
    }

    #[test]
    fn an_id_is_made_of_the_name_and_is_one_of_its_own() {
        assert_eq!(id(&["Travel Agent (v2)!"], &[]), "travel-agent-v2");
        assert_eq!(id(&["Echo"], &["echo", "echo-2"]), "echo-3");
        assert_eq!(
            id(&["\u{65e5}\u{672c}", "agents.example"], &[]),
            "agents-example"
        );
        assert_eq!(id(&["", "[::]"], &[]), "remote");
        assert_eq!(id(&[&"a ".repeat(200)], &[]).len(), LONGEST_NAME - 1);
    }

    #[test]
    fn agents_of_one_name_are_told_apart_by_their_key() {
        assert_eq!(
            ids(&[("Dice", "dice"), ("Hello", "h")], &[]),
            ["dice", "hello"]
        );
        assert_eq!(
            ids(&[("Agno", "basic"), ("Flow", "f"), ("agno", "late")], &[]),
            ["agno-basic", "flow", "agno-late"]
        );
        assert_eq!(
            ids(&[("dice", "dice"), ("dice", "two")], &[]),
            ["dice", "dice-two"]
        );
    }

    #[test]
    fn an_id_that_the_hub_has_and_one_that_repeats_get_a_number() {
        assert_eq!(ids(&[("Dice", "d")], &["dice"]), ["dice-2"]);
        assert_eq!(
            ids(&[("Dice", "d"), ("Dice", "d")], &[]),
            ["dice-d", "dice-d-2"]
        );
        assert_eq!(
            ids(&[("\u{65e5}", "jp"), ("\u{672c}", "bk")], &[]),
            ["jp", "bk"]
        );
    }
}
