//! A team: its coordinator asks one member, shows the other one what it said, and answers as it hears the second. Run it
//! beside `jackfield serve`.

use jackfield_sdk::{Agent, Error, Event, Team, stop_requested};

#[tokio::main]
async fn main() -> Result<(), Error> {
    let optimist = Agent::new("optimist").on_message(|message, reply| async move {
        Ok(reply
            .text(format!("{} is a fine idea", message.text))
            .await?)
    });
    let sceptic = Agent::new("sceptic").on_message(|message, reply| async move {
        reply.text("Somebody says: ").await?;
        reply.text(&message.text).await?;
        Ok(reply.text(". I doubt it.").await?)
    });
    let team = Team::new("desk")
        .description("looks at an idea from two sides")
        .member(optimist)
        .member(sceptic)
        .coordinator(|message, reply, team| async move {
            let praise = team.ask("optimist", message.text)?.text().await?;
            let mut doubts = team.ask("sceptic", praise)?;
            while let Some(event) = doubts.next().await? {
                if let Event::Chunk(chunk) = event {
                    reply.text(chunk.text).await?;
                }
            }
            Ok(())
        });
    Agent::from(team)
        .run_until(stop_requested(), || {
            eprintln!("desk is attached; try: jackfield call desk \"a longer weekend\"");
        })
        .await
}
