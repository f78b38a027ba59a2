//! Usage of one turn, from reports about the whole conversation. Pure.
//!
//! `usage_update` says how full the context is (`used` of `size` tokens) and what the conversation has cost so far. The cost
//! of a turn is therefore the difference of two reports, and never a sum.

use serde_json::{Value, json};

/// Decimal places that a difference of costs is rounded to, because amounts are floating-point numbers.
const PLACES: i32 = 9;

/// Cost of a conversation so far.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct SessionCost {
    amount: f64,
    currency: String,
}

impl SessionCost {
    fn read(cost: &Value) -> Option<Self> {
        Some(Self {
            amount: cost["amount"].as_f64()?,
            currency: cost["currency"].as_str()?.to_owned(),
        })
    }
}

/// Cost of a conversation before a turn.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) enum CostBefore {
    /// A conversation of an earlier process: its cost is unknown until the agent reports it.
    #[default]
    Unknown,
    /// A new conversation.
    Nothing,
    /// The last report.
    Reported(SessionCost),
}

impl CostBefore {
    /// Returns what a turn cost, after which the conversation cost `now`; `None` if that cannot be told.
    fn until(&self, now: &SessionCost) -> Option<f64> {
        match self {
            Self::Unknown => None,
            Self::Nothing => Some(now.amount),
            Self::Reported(before) if before.currency != now.currency => None,
            // A lower amount means that the agent counts from zero again.
            Self::Reported(before) if before.amount > now.amount => Some(now.amount),
            Self::Reported(before) => {
                let scale = 10_f64.powi(PLACES);
                Some(((now.amount - before.amount) * scale).round() / scale)
            }
        }
    }
}

/// Reports of a turn.
#[derive(Debug, Default)]
pub(super) struct TurnUsage {
    before: CostBefore,
    now: Option<SessionCost>,
    context: Option<Value>,
}

impl TurnUsage {
    pub(super) fn new(before: CostBefore) -> Self {
        Self {
            before,
            ..Self::default()
        }
    }

    /// Takes a `usage_update`. The last one of a turn counts.
    pub(super) fn read_update(&mut self, update: &Value) {
        if update["used"].is_u64() && update["size"].is_u64() {
            self.context = Some(json!({"used": update["used"], "size": update["size"]}));
        }
        self.now = SessionCost::read(&update["cost"]).or(self.now.take());
    }

    /// Returns the usage of the turn, and the cost before the next one. `answer` is the response to the prompt.
    pub(super) fn finish(self, answer: &Value) -> (Option<Value>, CostBefore) {
        let mut usage = match &answer["usage"] {
            Value::Object(counts) => counts.clone(),
            _ => serde_json::Map::new(),
        };
        if let Some(context) = self.context {
            usage.insert("context".to_owned(), context);
        }
        let cost = self.now.as_ref().and_then(|now| {
            let amount = self.before.until(now)?;
            Some(json!({"amount": amount, "currency": now.currency}))
        });
        usage.extend(cost.map(|cost| ("cost".to_owned(), cost)));
        let usage = (!usage.is_empty()).then_some(Value::Object(usage));
        (usage, self.now.map_or(self.before, CostBefore::Reported))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cost(amount: f64, currency: &str) -> Value {
        json!({"used": 5, "size": 9, "cost": {"amount": amount, "currency": currency}})
    }

    /// Returns the usage of each turn, whose updates are given.
    fn turns(mut before: CostBefore, turns: &[&[Value]]) -> Vec<Option<Value>> {
        let turn = |updates: &&[Value]| {
            let mut usage = TurnUsage::new(std::mem::take(&mut before));
            updates.iter().for_each(|update| usage.read_update(update));
            let (usage, next) = usage.finish(&json!({"stopReason": "end_turn"}));
            before = next;
            usage.map(|usage| usage["cost"].clone())
        };
        turns.iter().map(turn).collect()
    }

    fn usd(amount: f64) -> Option<Value> {
        Some(json!({"amount": amount, "currency": "USD"}))
    }

    #[test]
    fn a_turn_costs_the_difference_of_two_reports() {
        let reports: [&[Value]; 4] = [
            &[cost(0.01, "USD"), cost(0.045, "USD")],
            &[cost(0.06, "USD")],
            &[],
            &[cost(0.06, "USD")],
        ];
        assert_eq!(
            turns(CostBefore::Nothing, &reports),
            [usd(0.045), usd(0.015), None, usd(0.0)]
        );
    }

    #[test]
    fn a_conversation_of_an_earlier_process_has_no_cost_until_its_second_report() {
        let reports: [&[Value]; 2] = [&[cost(3.0, "USD")], &[cost(3.5, "USD")]];
        assert_eq!(
            turns(CostBefore::Unknown, &reports),
            [Some(Value::Null), usd(0.5)]
        );
    }

    #[test]
    fn a_count_that_begins_again_is_taken_whole_and_another_currency_is_not_compared() {
        let reports: [&[Value]; 3] = [
            &[cost(2.0, "USD")],
            &[cost(0.5, "USD")],
            &[cost(9.0, "EUR")],
        ];
        assert_eq!(
            turns(CostBefore::Nothing, &reports),
            [usd(2.0), usd(0.5), Some(Value::Null)]
        );
    }

    #[test]
    fn the_context_is_no_count_of_the_turn_and_the_answers_counts_are() {
        let mut usage = TurnUsage::new(CostBefore::Nothing);
        usage.read_update(&json!({"used": 53000, "size": 200_000}));
        let (usage, next) = usage.finish(&json!({"usage": {"totalTokens": 7}}));
        let whole = json!({"totalTokens": 7, "context": {"used": 53000, "size": 200_000}});
        assert_eq!((usage, next), (Some(whole), CostBefore::Nothing));
        let nothing = TurnUsage::default().finish(&json!({"usage": null}));
        assert_eq!(nothing.0, None);
    }
}
