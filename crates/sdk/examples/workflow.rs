//! A workflow: steps one after another, as one agent. Run it beside `jackfield serve`.

use jackfield_sdk::{Agent, Error, Workflow, stop_requested};

#[tokio::main]
async fn main() -> Result<(), Error> {
    let writer = Agent::new("write").on_message(|message, reply| async move {
        for line in message.text.lines() {
            reply.text(format!("Let us speak of {line}. ")).await?;
        }
        Ok(())
    });
    let workflow = Workflow::new("report")
        .description("writes a report on the topics you name, separated by commas")
        .step("outline", |text| async move {
            let topics: Vec<&str> = text.split(',').map(str::trim).collect();
            Ok(topics.join("\n"))
        })
        .agent(writer);
    Agent::from(workflow)
        .run_until(stop_requested(), || {
            eprintln!("report is attached; try: jackfield call report \"tea, cake\"");
        })
        .await
}
