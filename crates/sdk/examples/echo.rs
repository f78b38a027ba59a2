//! The smallest agent: it says what you said, word by word. Run it beside `jackfield serve`.

use jackfield_sdk::{Agent, Error, told_to_stop};

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
        .run_until(told_to_stop(), || {
            eprintln!("echo is attached; try: jackfield call echo \"hello there\"");
        })
        .await
}
