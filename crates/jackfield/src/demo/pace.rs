//! How fast scripted agents speak: a word at a time, so that one can watch.

use std::time::Duration;

/// The time that a word takes.
pub(super) const WORD: Duration = Duration::from_millis(60);

/// The words of a text, each with the space after it. Joined they are the text.
pub(super) fn words(text: &str) -> impl Iterator<Item = &str> {
    text.split_inclusive(' ')
}

/// Says a text word by word.
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
