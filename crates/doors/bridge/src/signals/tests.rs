//! Signals wait in order, within bounds, and not for ever.

use super::*;

fn agent(id: &str) -> AgentId {
    AgentId::parse(id).unwrap()
}

fn raw(json: &str) -> Box<RawValue> {
    serde_json::from_str(json).unwrap()
}

fn signal<'a>(transfer: &'a str, payload: &'a RawValue) -> RtcSignal<'a> {
    RtcSignal {
        transfer_id: transfer.into(),
        target_agent_id: downlink::HTTP_CALLER.into(),
        signal_type: "answer".into(),
        payload: Some(payload),
        extra: Vec::new(),
    }
}

fn payloads(taken: &[PendingSignal]) -> Vec<&str> {
    taken
        .iter()
        .map(|waiting| waiting.payload.as_ref().unwrap().get())
        .collect()
}

#[tokio::test(start_paused = true)]
async fn signals_wait_in_order_until_they_are_taken_once() {
    let (signals, amy, now) = (PendingSignals::default(), agent("amy"), Instant::now());
    let (one, two) = (raw("1"), raw("2"));
    assert!(signals.push(&amy, &signal("t", &one), now));
    assert!(signals.push(&amy, &signal("t", &two), now));
    assert!(
        signals.take(&agent("bob"), "t", now).is_empty(),
        "another agent's"
    );
    assert!(signals.take(&amy, "u", now).is_empty(), "another transfer");
    assert_eq!(payloads(&signals.take(&amy, "t", now)), ["1", "2"]);
    assert!(signals.take(&amy, "t", now).is_empty());
}

#[tokio::test(start_paused = true)]
async fn an_agent_has_so_many_transfers_and_each_so_many_signals() {
    let (signals, amy, now) = (PendingSignals::default(), agent("amy"), Instant::now());
    let one = raw("1");
    for _ in 0..MAX_SIGNALS {
        assert!(signals.push(&amy, &signal("0", &one), now));
    }
    assert!(!signals.push(&amy, &signal("0", &one), now), "full");
    for transfer in 1..MAX_TRANSFERS {
        assert!(signals.push(&amy, &signal(&transfer.to_string(), &one), now));
    }
    assert!(
        !signals.push(&amy, &signal("more", &one), now),
        "one transfer too many"
    );
    assert!(signals.take(&amy, "more", now).is_empty());
    assert!(
        signals.push(&agent("bob"), &signal("0", &one), now),
        "others have their own"
    );
    assert_eq!(signals.take(&amy, "0", now).len(), MAX_SIGNALS);
    assert!(signals.push(&amy, &signal("0", &one), now), "room again");
    let later = now + TTL;
    assert!(
        signals.push(&amy, &signal("more", &one), later),
        "the old ones are gone"
    );
}

#[tokio::test(start_paused = true)]
async fn signals_wait_a_minute_from_the_first_exchange_and_no_longer() {
    let (signals, amy, now) = (PendingSignals::default(), agent("amy"), Instant::now());
    let one = raw("1");
    let second = Duration::from_secs(1);
    assert!(
        signals.take(&amy, "t", now).is_empty(),
        "the first exchange"
    );
    let almost = now + TTL - second;
    assert!(signals.push(&amy, &signal("t", &one), almost));
    assert_eq!(signals.take(&amy, "t", almost).len(), 1);
    assert!(
        signals.push(&amy, &signal("t", &one), almost),
        "polls do not prolong it"
    );
    assert!(signals.take(&amy, "t", now + TTL).is_empty());
    // One that nobody ever asked for.
    assert!(signals.push(&amy, &signal("u", &one), now + TTL));
    assert!(signals.take(&amy, "u", now + 2 * TTL).is_empty());
}

#[tokio::test(start_paused = true)]
async fn all_signals_together_have_a_limit_in_bytes_and_give_it_back() {
    let (signals, now) = (PendingSignals::default(), Instant::now());
    let large = raw(&format!("\"{}\"", "x".repeat(MAX_SIGNAL - 1024)));
    let too_large = raw(&format!("\"{}\"", "x".repeat(MAX_SIGNAL)));
    assert!(!signals.push(&agent("a"), &signal("t", &too_large), now));
    let fill = |now| {
        (0..).find(|number| {
            let agent = agent(&format!("a{}", number / MAX_SIGNALS));
            !signals.push(&agent, &signal("t", &large), now)
        })
    };
    let filled = fill(now).unwrap();
    assert!((400..600).contains(&filled), "{filled}");
    assert_eq!(fill(now + TTL), Some(filled), "what is stale makes room");
    for number in 0..=filled / MAX_SIGNALS {
        signals.clear(&agent(&format!("a{number}")));
    }
    let buffers = signals.0.lock();
    assert!(buffers.bytes == 0 && buffers.agents.is_empty());
}

#[tokio::test(start_paused = true)]
async fn an_agent_that_leaves_takes_its_signals_along() {
    let (signals, amy, now) = (PendingSignals::default(), agent("amy"), Instant::now());
    let one = raw("1");
    assert!(signals.push(&amy, &signal("t", &one), now));
    signals.clear(&amy);
    signals.clear(&amy);
    assert!(signals.take(&amy, "t", now).is_empty());
}

#[test]
fn observers_see_no_credentials_of_a_signal_written_with_escapes() {
    for frame in [
        r#"{"type":"rtc_signal","ice_servers":[{"credential":"pw"}]}"#,
        r#"{"type":"rtc\u005fsignal","ice_servers":[{"credential":"pw"}]}"#,
        r#"{"\u0074ype":"rtc_signal","\u0069ce_servers":[{"credential":"pw"}]}"#,
        r#"{"type":"rtc_signal_relay","ice_servers":[{"credential":"pw"}]}"#,
        r#"{"type":"rtc\u005fsignal_relay","signal_type":"\u0072elay","payload":"pw"}"#,
    ] {
        let shown = for_observers(frame);
        assert!(!shown.contains("pw"), "{shown}");
        assert!(shown.contains(HIDDEN), "{shown}");
    }
    let other = r#"{"type":"chunk",  "delta":"a\nb","payload":"p"}"#;
    assert_eq!(for_observers(other), other);
}
