//! Dependencies between the tasks of a board: lookup of tasks by name or id, and detection of cycles.

use std::collections::HashMap;

use super::BoardTask;

/// Index of a task list by id and by name.
pub(super) struct BoardTaskIndex<'a> {
    ids: HashMap<&'a str, usize>,
    names: HashMap<&'a str, usize>,
}

impl<'a> BoardTaskIndex<'a> {
    pub(super) fn of(tasks: &'a [BoardTask]) -> Self {
        let (mut ids, mut names) = (HashMap::new(), HashMap::new());
        for (place, task) in tasks.iter().enumerate() {
            ids.entry(task.id.as_str()).or_insert(place);
            names.entry(task.name.as_str()).or_insert(place);
        }
        Self { ids, names }
    }

    /// Finds the task with the given id, else the first task with the given name.
    pub(super) fn find(&self, which: &str) -> Option<usize> {
        self.ids
            .get(which)
            .or_else(|| self.names.get(which))
            .copied()
    }

    pub(super) fn has_name(&self, name: &str) -> bool {
        self.names.contains_key(name)
    }

    /// Returns the indices of the dependencies of each task.
    pub(super) fn waits(&self, tasks: &[BoardTask]) -> Vec<Vec<usize>> {
        let places = tasks.iter().map(|task| {
            let places = task.dependencies.iter();
            let places = places.filter_map(|id| self.ids.get(id.as_str()).copied());
            places.collect()
        });
        places.collect()
    }
}

/// Finds a cycle: indices of tasks of which each waits for the next, and the last for the first. Runs in
/// linear time in the number of dependencies.
pub(super) fn find_cycle(waits: &[Vec<usize>]) -> Option<Vec<usize>> {
    // Remove tasks without remaining dependencies until no task can be removed.
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

    // Each remaining task waits for a remaining task, so following the dependencies reaches a visited task in
    // the end.
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
