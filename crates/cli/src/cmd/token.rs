//! `jackfield token`: manages tokens. The hub creates and revokes tokens; the hub's own secrets are read from
//! its files.

use std::{path::PathBuf, process::ExitCode};

use anyhow::Result;
use clap::{Args, Subcommand, ValueEnum};
use http::Method;
use jackfield_core::{principal::Scopes, units::Span};
use jackfield_sdk::{Hub, encode};
use jackfield_store::secrets;
use serde_json::{Value, json};

use jackfield_hub::{
    assembly::ADMIN_TOKEN,
    callbacks::CALLBACK_KEY,
    platform::{self, PLATFORM_SECRET},
};

use crate::{
    client::{self, Client},
    exit::{CliError, ErrorSubject, ExitKind, WithErrorSubject},
    output::{self, Table, text, time},
    shell,
};

/// Manage tokens, and show the hub's own secrets.
#[derive(Debug, Args)]
pub(crate) struct Token {
    #[command(subcommand)]
    verb: TokenCommand,
}

#[derive(Debug, Subcommand)]
enum TokenCommand {
    /// Create a token and print it, this once, to standard output
    Create(Create),
    /// List all tokens, without their secrets
    #[command(after_long_help = "Example:\n  jackfield token ls")]
    Ls {
        #[command(flatten)]
        client: Client,
    },
    /// Revoke a token and close its connections
    #[command(
        after_long_help = "Example:\n  jackfield token revoke 0199c2f0-1111-7aaa-8bbb-123456789abc"
    )]
    Revoke {
        /// Revoke the token with this id, as shown by jackfield token ls
        id: String,
        #[command(flatten)]
        client: Client,
    },
    /// Print one of the hub's own secrets, from its data directory
    #[command(after_long_help = "Example:\n  jackfield token show platform")]
    Show {
        /// Print this secret
        which: SecretName,
        /// Read the hub's data directory here [default: as for serve]
        #[arg(long, env = "JACKFIELD_DATA_DIR", value_name = "DIR")]
        data_dir: Option<PathBuf>,
    },
    /// Create a new platform secret; the previous one stays valid until --forget-old
    #[command(
        after_long_help = "Example:\n  jackfield token rotate > platform.secret && kill -HUP $(pidof jackfield)"
    )]
    Rotate {
        /// Create none, and revoke the previous secret
        #[arg(long)]
        forget_old: bool,
        /// Use the hub's data directory here [default: as for serve]
        #[arg(long, env = "JACKFIELD_DATA_DIR", value_name = "DIR")]
        data_dir: Option<PathBuf>,
    },
}

#[derive(Debug, Args)]
#[command(
    after_long_help = "Scopes: agent:PATTERN registers agents with matching ids, call:PATTERN calls and watch:PATTERN watches agents of \
                       other owners, metrics reads /metrics, admin allows everything. A * matches any text. The owner's own agents need no scope.\n\n\
                       Example:\n  jackfield token create --owner ann --scope 'agent:ann-*' --expires 30d > ann.token"
)]
struct Create {
    /// Create the token for this owner
    #[arg(long)]
    owner: String,
    /// Grant this scope; may be repeated
    #[arg(long, required = true, value_parser = scope)]
    scope: Vec<String>,
    /// Set a display name [default: the owner's]
    #[arg(long)]
    name: Option<String>,
    /// Let the token expire after this time, such as 30d [default: never]
    #[arg(long, value_name = "TIME")]
    expires: Option<Span>,
    #[command(flatten)]
    client: Client,
}

fn scope(text: &str) -> Result<String, String> {
    match Scopes::parse([text]) {
        Ok(_) => Ok(text.to_owned()),
        Err(error) => Err(error.to_string()),
    }
}

/// A secret of the hub.
#[derive(Debug, Clone, Copy, ValueEnum)]
enum SecretName {
    /// Print the secret that the platform sends to the bridge's relay API
    Platform,
    /// Print the key that signs callbacks
    Callback,
    /// Print the first administrator's token
    Admin,
}

impl Token {
    pub(crate) async fn run(self) -> Result<ExitCode> {
        match self.verb {
            TokenCommand::Create(create) => create.run().await?,
            TokenCommand::Ls { client } => ls(&client).await?,
            TokenCommand::Revoke { id, client } => revoke(&id, &client).await?,
            TokenCommand::Show { which, data_dir } => show(which, data_dir.as_ref())?,
            TokenCommand::Rotate {
                forget_old,
                data_dir,
            } => rotate(forget_old, data_dir.as_ref())?,
        }
        Ok(ExitKind::Ok.into())
    }
}

impl Create {
    async fn run(self) -> Result<()> {
        let hub = self.client.connect().await?;
        let mut body = json!({
            "name": self.name.as_ref().unwrap_or(&self.owner),
            "owner": self.owner,
            "scopes": self.scope,
        });
        if let Some(time) = self.expires {
            body["expires"] = json!(time.to_string());
        }
        let token = client::request(&hub, Method::POST, "/v1/tokens", Some(&body))
            .await
            .about(ErrorSubject::Token)?;
        if self.client.json {
            return Ok(output::json(&token)?);
        }
        output::line(text(&token, "token"))?;
        let until = match time(&token, "expires_at") {
            at if at.is_empty() => "until it is revoked".to_owned(),
            at => format!("until {at}"),
        };
        output::print_message(&format!(
            "token {} of {}, {until}; it is not shown again\nuse it with: jackfield ls{} --token-file FILE, or JACKFIELD_TOKEN",
            text(&token, "id"),
            self.owner,
            self.client.hub_flags()
        ));
        Ok(())
    }
}

async fn ls(client: &Client) -> Result<()> {
    let hub = client.connect().await?;
    let answer = client::get(&hub, "/v1/tokens", ErrorSubject::Token).await?;
    if client.json {
        return Ok(output::json(&answer)?);
    }
    let tokens = answer["tokens"]
        .as_array()
        .map(Vec::as_slice)
        .unwrap_or_default();
    if tokens.is_empty() {
        output::print_message("there are no tokens; jackfield token create creates one");
    }
    let mut table = Table::new([
        "id", "owner", "name", "scopes", "state", "created", "expires",
    ]);
    for token in tokens {
        let of = |key: &str| text(token, key).to_owned();
        let scopes = token["scopes"]
            .as_array()
            .map(Vec::as_slice)
            .unwrap_or_default();
        let scopes: Vec<_> = scopes.iter().filter_map(Value::as_str).collect();
        table.row([
            of("id"),
            of("owner"),
            of("name"),
            scopes.join(" "),
            state(token).to_owned(),
            time(token, "created_at"),
            time(token, "expires_at"),
        ]);
    }
    table.print()
}

fn state(token: &Value) -> &'static str {
    let expires = text(token, "expires_at").parse::<jiff::Timestamp>();
    if token["revoked_at"].is_string() {
        "revoked"
    } else if expires.is_ok_and(|at| at <= jiff::Timestamp::now()) {
        "expired"
    } else {
        "valid"
    }
}

async fn revoke(id: &str, client: &Client) -> Result<()> {
    let hub = client.connect().await?;
    let path = format!("/v1/tokens/{}", encode(id));
    if let Err(error) = client::request(&hub, Method::DELETE, &path, None).await {
        return Err(match error.code() {
            Some("not_found") => unknown(id, &hub, client).await,
            _ => CliError::from_hub(&error, ErrorSubject::Token),
        }
        .into());
    }
    if client.json {
        return Ok(output::json(&json!({"id": id, "revoked": true}))?);
    }
    output::print_message(&format!("{id} is revoked"));
    Ok(())
}

/// Builds the [`CliError`] for an unknown id. If the text is the name of tokens, lists commands with their ids.
async fn unknown(id: &str, hub: &Hub, client: &Client) -> CliError {
    let flags = client.flags();
    let listed = client::request(hub, Method::GET, "/v1/tokens", None).await;
    let listed = listed.unwrap_or_default();
    let named = output::items(&listed, "tokens").iter();
    let named = named.filter(|token| text(token, "name") == id && state(token) == "valid");
    let commands: Vec<_> = named
        .map(|token| shell::command("token revoke", &[text(token, "id")], "", &flags))
        .collect();
    let what = format!("no token has the id {}", output::clean(id));
    match commands.is_empty() {
        true => CliError::new(
            ExitKind::Missing,
            what,
            format!("jackfield token ls{flags} lists the tokens"),
        ),
        false => CliError::new(
            ExitKind::Missing,
            format!("{what}, which is a name; tokens are revoked by their ids"),
            commands.join("\n"),
        ),
    }
}

fn show(which: SecretName, data_dir: Option<&PathBuf>) -> Result<()> {
    let data_dir = client::data_dir(data_dir)?;
    let name = match which {
        SecretName::Platform => PLATFORM_SECRET,
        SecretName::Callback => CALLBACK_KEY,
        SecretName::Admin => ADMIN_TOKEN,
    };
    let Some(secret) = secrets::load(&data_dir, name)? else {
        let text = format!("there is no {}", data_dir.join(name).display());
        let next = match which {
            SecretName::Admin => {
                "a hub creates it when it requires tokens; name its data directory with --data-dir"
            }
            _ => "a hub creates it at its first start; name its data directory with --data-dir",
        };
        return Err(CliError::new(ExitKind::Missing, text, next).into());
    };
    Ok(output::line(secret.expose())?)
}

fn rotate(forget_old: bool, data_dir: Option<&PathBuf>) -> Result<()> {
    let data_dir = client::data_dir(data_dir)?;
    if !data_dir.is_dir() {
        let text = format!("there is no data directory {}", data_dir.display());
        let next = "a hub creates it at its first start; name it with --data-dir";
        return Err(CliError::new(ExitKind::Missing, text, next).into());
    }
    if forget_old {
        output::print_message(if platform::revoke_previous(&data_dir)? {
            "the previous platform secret becomes invalid when the hub reloads: kill -HUP PID"
        } else {
            "there is only one platform secret"
        });
        return Ok(());
    }
    let secret = platform::rotate_secret(&data_dir)?;
    output::line(secret.expose())?;
    output::print_message(
        "the previous secret stays valid. Reload the hub: kill -HUP PID, then give the new secret to the platform.\n\
         Once the platform uses it: jackfield token rotate --forget-old, and kill -HUP PID again",
    );
    Ok(())
}
