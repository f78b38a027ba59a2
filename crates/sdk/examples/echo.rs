//! The smallest agent: it says what you said, word by word. Run it beside `jackfield serve`.

use jackfield_sdk::{Agent, Error};

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
        .run_until(ctrl_c(), || {
            eprintln!("echo is attached; try: jackfield call echo \"hello there\"");
        })
        .await
}

async fn ctrl_c() {
    // Without signals it runs until it is killed.
    if tokio::signal::ctrl_c().await.is_err() {
        std::future::pending::<()>().await;
    }
}
