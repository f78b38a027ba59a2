//! Speed of scripted agents: one word at a time, slow enough to watch.

use std::time::Duration;

/// Pause after each word.
pub(super) const WORD: Duration = Duration::from_millis(60);

/// Splits a text into words, each with the following space. Joined, the words are the text.
pub(super) fn words(text: &str) -> impl Iterator<Item = &str> {
    text.split_inclusive(' ')
}

/// Sends a text word by word, with a pause of [`WORD`].
pub(super) async fn say(
    reply: &jackfield_sdk::Reply,
    text: &str,
) -> Result<(), jackfield_sdk::ReplyError> {
    for word in words(text) {
        reply.text(word).await?;
        tokio::time::sleep(WORD).await;
    }
    Ok(())
}
