//! Detects proxies and tunnels in front of a hub that asks local programs for no token. Requests that a proxy
//! forwards without a forwarding header look like requests of the hub's own user. `serve` and `doctor` warn.
//!
//! The check reads only the configuration and the names of this user's processes. Proxies in other containers
//! and unlisted programs stay undetected; for these, the hub logs a warning at the first request with a
//! forwarding header ([`proxy_warning`]).

use std::{fs, net::SocketAddr, path::Path};

use jackfield_kit::auth::TokenlessAccess;

use crate::{config::HubConfig, files};

/// Programs that forward requests or connections.
const PROXIES: [&str; 16] = [
    "apache2",
    "bore",
    "caddy",
    "chisel",
    "cloudflared",
    "envoy",
    "frpc",
    "haproxy",
    "httpd",
    "lighttpd",
    "nginx",
    "ngrok",
    "openresty",
    "rathole",
    "socat",
    "traefik",
];

/// Folder of processes on Linux.
const PROCESSES: &str = "/proc";

/// Advice for every [`Exposure`].
const TOKEN_REMEDY: &str = "set public_url to the URL that other machines use, or require_token = true (serve --require-token); every request then needs a token";

/// A way in which remote clients could reach the hub without a token.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Exposure {
    /// Finding, with its consequence.
    pub found: String,
    /// Advice for the operator.
    pub remedy: &'static str,
}

/// Checks a hub with this configuration that listens, or would listen, on `addr` as the current user.
pub fn check(config: &HubConfig, addr: SocketAddr) -> Option<Exposure> {
    let user = rustix::process::geteuid().as_raw();
    find_exposure(config, addr, || running_proxies(Path::new(PROCESSES), user))
}

/// Returns the log message for the first request with a sign of a proxy; `None` if the hub is configured for
/// a proxy.
pub fn proxy_warning(config: &HubConfig, addr: SocketAddr) -> Option<String> {
    if config.public_url.is_some() {
        return None;
    }
    let links = match files::base_url(config, addr) {
        Some(base) => format!("A2A cards, invites and links to files name {base}"),
        None => "there are no A2A cards, invites and links to files".to_owned(),
    };
    let token = match config.trust() {
        TokenlessAccess::ThisMachine => {
            "; requests that the proxy forwards without a forwarding header need no token, unless you set require_token = true"
        }
        TokenlessAccess::Nobody | TokenlessAccess::Everybody => "",
    };
    Some(format!(
        "a request came through a proxy, and public_url is not set: {links}{token}. Set public_url to the URL that other machines use"
    ))
}

fn find_exposure(
    config: &HubConfig,
    addr: SocketAddr,
    proxies: impl FnOnce() -> Vec<ProxyProcess>,
) -> Option<Exposure> {
    if config.trust() != TokenlessAccess::ThisMachine {
        return None;
    }
    let means = "requests that it forwards without a forwarding header need no token";
    // The URL leads to this machine, else tokens would be required.
    let public = config.public_url.as_ref();
    if let Some(public) = public.filter(|url| port_of(url) != Some(addr.port())) {
        return Some(Exposure {
            found: format!(
                "public_url {public} is another port of this machine, and tokens are not required: if a proxy listens there, {means}"
            ),
            remedy: TOKEN_REMEDY,
        });
    }
    let running = proxies();
    let ProxyProcess { name, id, .. } = running.first()?;
    Some(Exposure {
        found: format!(
            "{name} runs as the hub's user (process {id}), and tokens are not required: if it forwards requests to the hub, {means}"
        ),
        remedy: TOKEN_REMEDY,
    })
}

fn port_of(url: &str) -> Option<u16> {
    let uri: http::Uri = url.parse().ok()?;
    let usual = match uri.scheme_str() {
        Some("https") => 443,
        _ => 80,
    };
    Some(uri.port_u16().unwrap_or(usual))
}

#[derive(Debug, Clone, PartialEq, Eq)]
struct ProxyProcess {
    id: u32,
    parent: u32,
    user: u32,
    name: String,
}

/// Lists the proxies that `user` runs. A proxy whose children belong to other users makes no connections
/// itself and is left out.
fn running_proxies(processes: &Path, user: u32) -> Vec<ProxyProcess> {
    let entries = fs::read_dir(processes).into_iter().flatten().flatten();
    let all = entries.filter_map(|entry| read_process(&entry.path()));
    let mut known: Vec<_> = all
        .filter(|process| PROXIES.contains(&process.name.as_str()))
        .collect();
    known.sort_by_key(|process| process.id);
    let has_other_children = |of: &ProxyProcess| {
        let mut children = known.iter().filter(|it| it.parent == of.id);
        children.any(|child| child.user != user)
    };
    let own = known.iter().filter(|process| process.user == user);
    own.filter(|it| !has_other_children(it)).cloned().collect()
}

/// Reads a process from its folder. Returns `None` for other folders and for processes that have ended
/// meanwhile.
fn read_process(folder: &Path) -> Option<ProxyProcess> {
    let id = folder.file_name()?.to_str()?.parse().ok()?;
    let status = fs::read_to_string(folder.join("status")).ok()?;
    let field = |name: &str| {
        let mut lines = status.lines();
        lines.find_map(|line| line.strip_prefix(name)?.strip_prefix(':'))
    };
    // The fields are the real, effective, saved and file system user ids.
    let user = field("Uid")?.split_whitespace().nth(1)?;
    Some(ProxyProcess {
        id,
        parent: field("PPid")?.trim().parse().ok()?,
        user: user.parse().ok()?,
        name: field("Name")?.trim().to_owned(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn config(text: &str) -> HubConfig {
        HubConfig::parse(text).unwrap()
    }

    fn nginx() -> Vec<ProxyProcess> {
        vec![ProxyProcess {
            id: 12,
            parent: 1,
            user: 1000,
            name: "nginx".to_owned(),
        }]
    }

    #[test]
    fn a_proxy_is_told_only_where_no_token_is_needed() {
        for (text, says) in [
            ("", Some("nginx")),
            (
                "public_url = \"http://localhost:8080\"",
                Some("http://localhost:8080"),
            ),
            (
                "public_url = \"http://localhost\"",
                Some("http://localhost"),
            ),
            ("public_url = \"http://localhost:7411/\"", Some("nginx")),
            ("public_url = \"https://hub.example.com\"", None),
            ("require_token = true", None),
            ("listen = \"0.0.0.0:7411\"", None),
            ("insecure = true", None),
        ] {
            let config = config(text);
            let found = find_exposure(&config, config.listen, nginx).map(|it| it.found);
            assert_eq!(found.is_some(), says.is_some(), "{text}: {found:?}");
            let names = found
                .zip(says)
                .is_none_or(|(found, says)| found.contains(says));
            assert!(names, "{text}");
        }
        let config = config("");
        assert_eq!(find_exposure(&config, config.listen, Vec::new), None);
    }

    #[test]
    fn the_log_warns_of_a_proxy_unless_the_hub_has_a_public_url() {
        let addr = "127.0.0.1:7411".parse().unwrap();
        let warning = proxy_warning(&config(""), addr).unwrap();
        assert!(warning.contains("require_token") && warning.contains("http://127.0.0.1:7411"));
        let warning = proxy_warning(&config("require_token = true"), addr).unwrap();
        assert!(!warning.contains("require_token"), "{warning}");
        let known = config("public_url = \"https://hub.example.com\"");
        assert_eq!(proxy_warning(&known, addr), None);
    }

    #[test]
    fn only_proxies_of_this_user_that_connect_themselves_count() {
        let folder = tempfile::tempdir().unwrap();
        let process = |id: u32, name: &str, parent: u32, user: u32| {
            let path = folder.path().join(id.to_string());
            fs::create_dir(&path).unwrap();
            let status = format!("Name:\t{name}\nPPid:\t{parent}\nUid:\t{user}\t{user}\t0\t0\n");
            fs::write(path.join("status"), status).unwrap();
        };
        process(10, "nginx", 1, 0);
        process(11, "nginx", 10, 33);
        process(12, "haproxy", 1, 1000);
        process(13, "bash", 1, 1000);
        process(14, "caddy", 1, 1001);
        fs::create_dir(folder.path().join("self")).unwrap();
        fs::create_dir(folder.path().join("99")).unwrap();
        let of = |user| {
            let found = running_proxies(folder.path(), user);
            found.into_iter().map(|it| it.id).collect::<Vec<_>>()
        };
        assert_eq!(of(1000), [12]);
        assert_eq!(of(0), Vec::<u32>::new(), "its workers are another user's");
        assert_eq!(of(33), [11]);
        assert!(running_proxies(&folder.path().join("nowhere"), 0).is_empty());
    }
}
