//! Pure functions between the protocol's types and those of the hub: the prompt of an editor ([`message`]), and the updates
//! by which the editor sees a reply ([`UpdateRenderer`]).

mod file;
mod prompt;
mod tools;
mod updates;

pub(crate) use self::{
    prompt::{message, user_blocks},
    tools::ToolPrefix,
    updates::UpdateRenderer,
};
