//! Names of this machine's users, for messages.

use crate::output;

/// Returns the user with this id as part of a sentence.
pub(crate) fn name_of_user(number: u32) -> String {
    let users = std::fs::read_to_string("/etc/passwd").unwrap_or_default();
    match name_in(&users, number) {
        Some(name) => format!("the user {}", output::clean(name)),
        None => format!("the user with the id {number}"),
    }
}

/// Finds the name of a user in the text of `/etc/passwd`.
fn name_in(users: &str, number: u32) -> Option<&str> {
    users.lines().find_map(|line| {
        let mut fields = line.split(':');
        let name = fields.next()?;
        let found: u32 = fields.nth(1)?.parse().ok()?;
        (found == number).then_some(name)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_user_is_named_as_the_system_does() {
        let users = "root:x:0:0:root:/root:/bin/sh\nbroken\nann:x:1000:1000::/home/ann:/bin/sh\n";
        assert_eq!(name_in(users, 1000), Some("ann"));
        assert_eq!(name_in(users, 1001), None);
    }
}
