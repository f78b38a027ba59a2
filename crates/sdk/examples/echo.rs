//! The smallest agent: it says what you said, word by word. Run it beside `jackfield serve`.

use jackfield_sdk::{Agent, Error, stop_requested};

#[tokio::main]
async fn main() -> Result<(), Error> {
    Agent::new("echo")
        .description("says what you said")
        .skill("echo")
        .on_message(|message, reply| async move {
            for word in message.text.split_inclusive(' ') {
                reply.text(word).await?;
            }
            Ok(())
        })
        .run_until(stop_requested(), || {
            eprintln!("echo is attached; try: jackfield call echo \"hello there\"");
        })
        .await
}
