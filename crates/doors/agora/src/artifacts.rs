//! What an agent of another door makes while it answers: kept for the end of the reply, since Agora has no frame for it before.

use jackfield_core::{
    event::Artifact,
    failure::{Failure, Reason},
};

/// How many artifacts one reply may have; they wait in memory for its end.
const MAX_ARTIFACTS: usize = 1024;

/// The artifacts of one reply so far.
#[derive(Debug, Default)]
pub(crate) struct Artifacts {
    kept: Vec<Artifact>,
    /// What each of them weighs.
    weights: Vec<usize>,
}

impl Artifacts {
    pub(crate) fn all(&self) -> &[Artifact] {
        &self.kept
    }

    /// Keeps an artifact of this weight: appended to, or in place of, the one it goes on with. All together may weigh `max`.
    pub(crate) fn keep(
        &mut self,
        artifact: Artifact,
        weight: usize,
        max: usize,
    ) -> Result<(), Failure> {
        self.put(artifact, weight);
        let weight: usize = self.weights.iter().sum();
        if weight <= max && self.kept.len() <= MAX_ARTIFACTS {
            return Ok(());
        }
        let text = format!(
            "the artifacts of this reply are more than {MAX_ARTIFACTS} or have more than {max} bytes"
        );
        Err(Failure::new(Reason::TooLarge, text))
    }

    fn put(&mut self, artifact: Artifact, weight: usize) {
        let known = self.kept.iter().position(|it| it.id == artifact.id);
        let Some(at) = known else {
            self.kept.push(artifact);
            self.weights.push(weight);
            return;
        };
        if artifact.append {
            self.weights[at] += weight;
            self.kept[at].parts.extend(artifact.parts);
            self.kept[at].last = artifact.last;
        } else {
            self.weights[at] = weight;
            self.kept[at] = artifact;
        }
    }
}
