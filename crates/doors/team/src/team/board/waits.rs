//! What waits for what on a board: tasks by name or id, as places in the list, and whether some wait for themselves.

use std::collections::HashMap;

use super::BoardTask;

/// Where the tasks of a list stand.
pub(super) struct Places<'a> {
    ids: HashMap<&'a str, usize>,
    names: HashMap<&'a str, usize>,
}

impl<'a> Places<'a> {
    pub(super) fn of(tasks: &'a [BoardTask]) -> Self {
        let (mut ids, mut names) = (HashMap::new(), HashMap::new());
        for (place, task) in tasks.iter().enumerate() {
            ids.entry(task.id.as_str()).or_insert(place);
            names.entry(task.name.as_str()).or_insert(place);
        }
        Self { ids, names }
    }

    /// The task of this id, else the first of this name.
    pub(super) fn find(&self, which: &str) -> Option<usize> {
        self.ids
            .get(which)
            .or_else(|| self.names.get(which))
            .copied()
    }

    pub(super) fn has_name(&self, name: &str) -> bool {
        self.names.contains_key(name)
    }

    /// For each task, the places of those that it waits for.
    pub(super) fn waits(&self, tasks: &[BoardTask]) -> Vec<Vec<usize>> {
        let places = tasks.iter().map(|task| {
            let places = task.dependencies.iter();
            let places = places.filter_map(|id| self.ids.get(id.as_str()).copied());
            places.collect()
        });
        places.collect()
    }
}

/// Places of tasks of which each waits for the next, and the last for the first. One pass over all that is waited for,
/// however they are tangled.
pub(super) fn ring(waits: &[Vec<usize>]) -> Option<Vec<usize>> {
    // Takes away whatever waits for nothing that is left, until nothing more can go.
    let mut awaited_by = vec![Vec::new(); waits.len()];
    let mut left: Vec<usize> = waits.iter().map(Vec::len).collect();
    for (task, waits) in waits.iter().enumerate() {
        for &on in waits {
            awaited_by[on].push(task);
        }
    }
    let mut free: Vec<usize> = (0..left.len()).filter(|task| left[*task] == 0).collect();
    while let Some(done) = free.pop() {
        for &task in &awaited_by[done] {
            left[task] -= 1;
            if left[task] == 0 {
                free.push(task);
            }
        }
    }

    // Of what cannot go, each waits for another of them: whoever goes on from one to the next comes back in the end.
    let mut path = Vec::new();
    let mut step_of = vec![None; waits.len()];
    let mut at = left.iter().position(|left| *left > 0)?;
    loop {
        if let Some(step) = step_of[at] {
            return Some(path.split_off(step));
        }
        step_of[at] = Some(path.len());
        path.push(at);
        at = *waits[at].iter().find(|on| left[**on] > 0)?;
    }
}
