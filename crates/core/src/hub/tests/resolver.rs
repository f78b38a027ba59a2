//! The two seams of the hub, with a resolver that the test made up: docs/decisions/0023.

use std::any::Any;

use super::*;
use jackfield_model::{Ask, AskKind, Json};

use crate::{
    hub::{Access, Parent},
    observer::CallObserver,
    resolver::{CallContext, DeliveryRight, Forgetting, Resolution, Resolver, Unresolved},
};

/// Lets ids stand for agents, and notes what it is asked and told.
#[derive(Debug, Default)]
struct Aliases {
    /// Who stands for whom.
    ids: Vec<(&'static str, &'static str)>,
    /// What its observers were told.
    told: Arc<Mutex<Vec<String>>>,
    /// What each call was given as its context, the ids on the way to it.
    ways: Mutex<Vec<String>>,
    /// Whether those who come with a hint still reach their agent.
    is_open: Arc<AtomicBool>,
    /// Whether it needs all agents.
    needs_agents: AtomicBool,
}

/// The ids on the way to a call.
#[derive(Debug)]
struct Way(String);

impl CallContext for Way {
    fn kept(&self) -> Option<Json> {
        Json::of(&self.0).ok()
    }
}

#[derive(Debug)]
struct Recorder(Arc<Mutex<Vec<String>>>);

impl CallObserver for Recorder {
    fn opened(&mut self, call: &Arc<Call>) {
        self.0.lock().push(format!("opened at {}", call.target));
    }

    fn event(&mut self, _: &Call, event: &Event) {
        self.0.lock().push(match event {
            Event::Chunk(chunk) => chunk.text.to_string(),
            other => format!("{other:?}"),
        });
    }

    fn asked(&mut self, _: &Arc<Call>, ask: &Ask) {
        self.0.lock().push(format!("asked {}", ask.id));
    }

    fn answered(&mut self, _: &Call, ask: &str, answer: &Answer) {
        let content = answer.content.as_deref().unwrap_or_default();
        self.0.lock().push(format!("answered {ask}: {content}"));
    }

    fn ended(&mut self, _: &Call, end: &End) {
        self.0.lock().push(format!("ended {}", end.label()));
    }
}

#[derive(Debug)]
struct WhileOpen(Arc<AtomicBool>);

impl DeliveryRight for WhileOpen {
    fn admits(&self, _: &Entry, _: &Access<'_>) -> bool {
        self.0.load(Ordering::Acquire)
    }

    fn check_served(&self, _: &Access<'_>) -> Result<(), Failure> {
        Ok(())
    }
}

impl Aliases {
    fn needed(&self, id: &AgentId) -> Result<(), Failure> {
        if self.needs_agents.load(Ordering::Acquire) {
            return Err(Failure::new(Reason::Conflict, format!("{id} is needed")));
        }
        Ok(())
    }
}

impl Resolver for Aliases {
    fn name(&self) -> &'static str {
        "aliases"
    }

    fn opened(&self, agents: &AgentRegistry) {
        for (alias, agent) in &self.ids {
            if let Some(entry) = agents.get(alias) {
                entry.stand_for(agents.get(agent));
            }
        }
    }

    fn admits(&self, _: &Request, _: &Entry) -> bool {
        self.is_open.load(Ordering::Acquire)
    }

    fn resolve(
        &self,
        _: &AgentRegistry,
        unresolved: &Unresolved<'_>,
    ) -> Result<Resolution, Failure> {
        let addressed = unresolved.addressed;
        let inherited = unresolved.parent.and_then(|parent| parent.context());
        let inherited = inherited.and_then(|way| (&**way as &dyn Any).downcast_ref::<Way>());
        let inherited = inherited.map(|way| way.0.clone());
        let kept = unresolved.kept.map(|kept| kept.get().to_owned());
        let way = inherited.or(kept).map(|way| way + "/").unwrap_or_default();
        let way = format!("{way}{}", addressed.id);
        self.ways.lock().push(way.clone());
        Ok(Resolution {
            serve_at: addressed.stands_for(),
            observers: vec![Box::new(Recorder(self.told.clone()))],
            context: Some(Arc::new(Way(way))),
            right: Some(Box::new(WhileOpen(self.is_open.clone()))),
        })
    }

    fn members(&self, _: &AgentRegistry, _: &Principal, id: &str) -> Result<Vec<AgentId>, Failure> {
        AgentId::parse(id).map_or_else(|_| Err(Failure::no_such_agent(id)), |id| Ok(vec![id]))
    }

    fn check_claim(&self, id: &AgentId) -> Result<(), Failure> {
        let is_alias = self.ids.iter().any(|(alias, _)| *alias == id.as_str());
        if is_alias { self.needed(id) } else { Ok(()) }
    }

    fn introduced(&self, agents: &AgentRegistry, _: &AgentId) {
        self.opened(agents);
    }

    fn check_forget(&self, id: &AgentId, _: Forgetting) -> Result<(), Failure> {
        self.needed(id)
    }

    fn forgotten(&self, id: &AgentId) {
        self.told.lock().push(format!("forgotten {id}"));
    }

    fn sweep(&self, _: Instant) {}

    fn stopping(&self) {
        self.told.lock().push("stopping".to_owned());
    }
}

async fn resolved_on(store: Arc<dyn Store>) -> (Hub, Arc<Aliases>) {
    let aliases = Arc::new(Aliases {
        ids: vec![("crew", "a")],
        ..Aliases::default()
    });
    let hub = Hub::open_with(store, Limits::default(), aliases.clone()).await;
    (hub.unwrap(), aliases)
}

/// A hub on which `crew` stands for `a`.
async fn resolved() -> (Hub, Arc<Aliases>) {
    let (hub, aliases) = resolved_on(Arc::new(MemoryStore::default())).await;
    let reserved = hub
        .agents()
        .reserve(&ann(), &id("crew"), &Profile::default(), "telegraph");
    reserved.unwrap();
    (hub, aliases)
}

fn hinted(request: Request) -> Request {
    Request {
        hint: Some(Arc::new(())),
        ..request
    }
}

#[tokio::test]
async fn a_call_of_an_id_that_stands_for_an_agent_is_opened_at_the_agent() {
    let (hub, _) = resolved().await;
    assert_eq!(reason(hub.calls().open(to("crew", "hi"))), Reason::Offline);
    let (a, line) = agent(&hub, "a");
    let asking = hub.calls().open(to("crew", "hi")).unwrap();
    let call = asking.call();
    assert_eq!((&call.target, &call.addressed), (&id("a"), &id("crew")));
    assert_eq!(call.chain.hops(), 1, "it is no hop");
    let crew = hub.agents().find(&ann(), "crew").unwrap();
    assert_eq!(crew.link().unwrap().door(), "telegraph");
    let view = crew.view();
    assert_eq!((view.online, view.open_calls), (true, 1));
    assert_eq!(hub.calls().at_agent(&ann(), &id("crew")).unwrap().len(), 1);
    line.next().finish(End::done());
    drop(a);
    assert!(crew.link().is_none() && !crew.is_online());
    assert_nothing_is_open(&hub);
}

#[tokio::test]
async fn observers_are_told_what_was_accepted_in_the_order_of_the_reply() {
    let (hub, aliases) = resolved().await;
    let (_a, line) = agent(&hub, "a");
    let asking = hub.calls().open(to("a", "hi")).unwrap();
    let serving = line.next();
    serving.push_numbered(Event::text("one"), 1);
    serving.push_numbered(Event::text("one, again"), 1);
    let question = |id: &str| Ask {
        id: id.to_owned(),
        kind: AskKind::Input,
        text: "which?".to_owned(),
        tool_name: None,
        tool_call_id: None,
        arguments: None,
        schema: None,
    };
    serving.ask(question("q"));
    serving.ask(question("q"));
    let answer = |content: &str| Answer {
        content: Some(content.to_owned()),
        ..Answer::default()
    };
    let call = asking.call().id;
    hub.calls()
        .answer(&ann(), call, "q", answer("this"))
        .unwrap();
    hub.calls()
        .answer(&ann(), call, "q", answer("that"))
        .unwrap_err();
    serving.push(Event::text("two"));
    hub.calls().cancel(&ann(), call).unwrap();
    serving.push(Event::text("late"));
    serving.ask(question("late"));
    serving.finish(End::done());
    let told = [
        "opened at a",
        "one",
        "asked q",
        "answered q: this",
        "two",
        "ended cancelled",
    ];
    assert_eq!(*aliases.told.lock(), told);
}

#[tokio::test]
async fn the_context_of_a_call_is_inherited_by_the_calls_made_for_it() {
    let (hub, aliases) = resolved().await;
    let ((_a, at_a), (_b, _at_b)) = (agent(&hub, "a"), agent(&hub, "b"));
    let _asking = hub.calls().open(to("crew", "hi")).unwrap();
    let serving = at_a.next();
    let of_a = Request {
        principal: ann().as_agent(id("a")),
        parent: Parent::Call(serving.call().id),
        ..to("b", "help")
    };
    let _helping = hub.calls().open(of_a).unwrap();
    let _other = hub.calls().open(to("b", "hi")).unwrap();
    assert_eq!(*aliases.ways.lock(), ["crew", "crew/b", "b"]);
}

#[tokio::test(start_paused = true)]
async fn the_context_of_a_kept_call_is_given_back_after_a_restart() {
    let store = Arc::new(MemoryStore::default());
    let (hub, _) = resolved_on(store.clone()).await;
    drop(agent(&hub, "a"));
    let waiting = Request {
        wait_online: Some(Duration::from_secs(3600)),
        ..to("a", "hi")
    };
    let task = hub.tasks().start(waiting).await.unwrap();
    let kept = task.record().context;
    assert_eq!(kept["aliases"].get(), r#""a""#);
    until_idle().await;
    let (_hub, aliases) = resolved_on(Arc::new(store.copy())).await;
    assert_eq!(*aliases.ways.lock(), [r#""a"/a"#]);
    assert_eq!(*aliases.told.lock(), ["opened at a"]);
    // A hub without the resolver takes the task up too, and loses nothing but what that would have done.
    let hub = hub_on(Arc::new(store.copy()), |_| ()).await;
    let (_a, line) = agent(&hub, "a");
    until_idle().await;
    assert_eq!(line.texts(), ["hi"]);
}

#[tokio::test(start_paused = true)]
async fn the_resolver_decides_on_requests_with_a_hint_when_they_are_made_and_delivered() {
    let (hub, aliases) = resolved().await;
    let (attached, _) = agent(&hub, "a");
    let bobs = || Request {
        principal: bob(),
        wait_online: Some(Duration::from_secs(3600)),
        ..to("a", "hi")
    };
    assert_eq!(
        reason(hub.tasks().start(hinted(bobs())).await),
        Reason::NotFound
    );
    aliases.is_open.store(true, Ordering::Release);
    assert_eq!(reason(hub.tasks().start(bobs()).await), Reason::NotFound);
    drop(attached);
    let refused = hub.tasks().start(hinted(bobs())).await.unwrap();
    aliases.is_open.store(false, Ordering::Release);
    let (attached, line) = agent(&hub, "a");
    until_idle().await;
    assert!(line.texts().is_empty());
    assert_eq!(state(&refused), TaskState::Failed);
    drop(attached);
    aliases.is_open.store(true, Ordering::Release);
    hub.tasks().start(hinted(bobs())).await.unwrap();
    let (_a, line) = agent(&hub, "a");
    until_idle().await;
    assert_eq!(line.texts(), ["hi"]);
}

#[tokio::test]
async fn what_the_resolver_needs_is_neither_forgotten_nor_claimed_again() {
    let (hub, aliases) = resolved().await;
    drop(agent(&hub, "a"));
    aliases.needs_agents.store(true, Ordering::Release);
    assert_eq!(
        reason(hub.agents().forget(&ann(), &id("a"))),
        Reason::Conflict
    );
    assert!(hub.agents().forget_evictable(&id("a")).is_none());
    let again = attach_as(&hub, &ann(), "crew", &Line::new(), false);
    assert_eq!(reason(again), Reason::Conflict);
    let taken = attach_as(&hub, &bob(), "crew", &Line::new(), false);
    assert_eq!(reason(taken), Reason::Unauthorized);
    aliases.needs_agents.store(false, Ordering::Release);
    assert!(hub.agents().forget_evictable(&id("a")).is_some());
    drop(agent(&hub, "a"));
    hub.agents()
        .forget(&ann(), &id("a"))
        .unwrap()
        .await
        .unwrap();
    hub.stop(Duration::ZERO).await;
    assert_eq!(*aliases.told.lock(), ["forgotten a", "stopping"]);
}
