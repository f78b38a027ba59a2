//! The agent that the conformance kits for A2A are run against. Run it beside `jackfield serve`, then give the kit the
//! address of its card, `http://127.0.0.1:7411/a2a/agents/conformance`:
//!
//! ```console
//! cargo run -p jackfield-sdk --example conformance -- [--hub URL] [--id ID] [--kit v1|v03]
//! ```

mod behaviour;

use std::error::Error;

use jackfield_sdk::{HubAddress, stop_requested};

use self::behaviour::Kit;

const USAGE: &str = "usage: conformance [--hub URL] [--id ID] [--kit v1|v03]";

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let mut address = HubAddress::from_env()?;
    let (mut id, mut kit) = ("conformance".to_owned(), Kit::default());
    let mut arguments = std::env::args().skip(1);
    while let Some(option) = arguments.next() {
        let value = arguments.next().ok_or(USAGE)?;
        match option.as_str() {
            "--hub" => {
                let hub = HubAddress::new(&value)?;
                address = match address.token() {
                    Some(token) => hub.with_token(token),
                    None => hub,
                };
            }
            "--id" => id = value,
            "--kit" if value == "v1" => kit = Kit::V1,
            "--kit" if value == "v03" => kit = Kit::V03,
            _ => return Err(USAGE.into()),
        }
    }
    let attached = || eprintln!("{id} is attached; its card is below /a2a/agents/{id}");
    behaviour::agent(&id, kit)
        .hub(address)
        .run_until(stop_requested(), attached)
        .await?;
    Ok(())
}
