//! For whom the server counts: connections, input that is not complete, and answers that are not sent. Each has one
//! total, which owners and addresses share by the rule of [`Shares`].

use std::{
    net::{IpAddr, Ipv6Addr, SocketAddr},
    sync::{Arc, Weak},
};

use jackfield_core::shares::{Share, Shares};
use jackfield_model::{Failure, Owner, Reason};
use parking_lot::Mutex;

use super::ServerLimits;

/// How many times the free places one owner or address may hold. Two: one address alone, be it a proxy or a machine that
/// runs 10,000 agents, gets two thirds of the default 18,000.
const PLACES_APPETITE: usize = 2;

/// Who holds a share of a total.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Holder {
    /// An owner that proved itself by a token.
    Owner(Owner),
    /// Everybody at an address who did not.
    Address(IpAddr),
}

impl Holder {
    /// Everybody at this address. The addresses of an IPv6 network of 64 bits are one: whoever has one of them has all.
    pub fn at(addr: SocketAddr) -> Self {
        Self::Address(match addr.ip().to_canonical() {
            IpAddr::V6(ip) => Ipv6Addr::from_bits(ip.to_bits() & !u128::from(u64::MAX)).into(),
            ip @ IpAddr::V4(_) => ip,
        })
    }
}

/// The totals of one server.
#[derive(Debug)]
pub(crate) struct Budgets {
    /// Connections.
    places: Arc<Shares<Holder>>,
    /// Connections of the operator, when there is no other place.
    operator: Arc<Shares<Holder>>,
    /// Bytes of bodies and frames whose end has not come.
    input: Arc<Shares<Holder>>,
    /// Bytes of answers that were not sent.
    pub(crate) answers: Arc<Shares<Holder>>,
}

impl Budgets {
    pub(crate) fn new(limits: &ServerLimits) -> Arc<Self> {
        Arc::new(Self {
            places: Shares::with_appetite(limits.max_connections, PLACES_APPETITE),
            operator: Shares::with_appetite(limits.operator_connections, PLACES_APPETITE),
            input: Shares::new(limits.input_total),
            answers: Shares::new(limits.answers_total),
        })
    }

    /// A place for a connection from this address, if there is one.
    pub(crate) fn admit(self: &Arc<Self>, addr: SocketAddr) -> Option<Admitted> {
        let holder = Holder::at(addr);
        let (share, is_operators) = match self.places.take(holder.clone(), 1) {
            Some(share) => (share, false),
            None => (self.operator.take(holder.clone(), 1)?, true),
        };
        let place = Arc::new(Place(Mutex::new(share)));
        let account = Account {
            holder,
            budgets: self.clone(),
            place: Arc::downgrade(&place),
        };
        Some(Admitted {
            place,
            account,
            is_operators,
        })
    }
}

/// A connection that has a place.
pub(crate) struct Admitted {
    pub(crate) place: Arc<Place>,
    pub(crate) account: Account,
    /// Whether the place is one of those that are kept free for the operator.
    pub(crate) is_operators: bool,
}

/// The place of one connection, given back when the connection is dropped.
#[derive(Debug)]
pub(crate) struct Place(Mutex<Share<Holder>>);

/// What one connection or request is counted for.
#[derive(Debug, Clone)]
pub struct Account {
    holder: Holder,
    budgets: Arc<Budgets>,
    /// The connection has it, and nobody else keeps it.
    place: Weak<Place>,
}

impl Account {
    /// Who it is counted for.
    pub fn holder(&self) -> &Holder {
        &self.holder
    }

    /// The same for somebody else.
    pub(crate) fn of(&self, holder: Holder) -> Self {
        Self {
            holder,
            ..self.clone()
        }
    }

    /// Counts the connection for `owner` from now on instead of for its address. Fails with `busy` if the owner has more
    /// connections than its share.
    pub fn move_to(&mut self, owner: &Owner) -> Result<(), Failure> {
        let holder = Holder::Owner(owner.clone());
        if let Some(place) = self.place.upgrade() {
            let mut place = place.0.lock();
            if *place.owner() != holder {
                let share = self.budgets.places.take(holder.clone(), 1);
                *place = share.ok_or_else(|| too_many_connections(owner))?;
            }
        }
        self.holder = holder;
        Ok(())
    }

    /// Who the connection is counted for. None once it is gone.
    pub(crate) fn place_holder(&self) -> Option<Holder> {
        let place = self.place.upgrade()?;
        let holder = place.0.lock().owner().clone();
        Some(holder)
    }

    /// Counts the connection for `address` again, if that has a place for it.
    pub(crate) fn move_back(&self, address: &Holder) {
        if let Some(place) = self.place.upgrade()
            && let Some(share) = self.budgets.places.take(address.clone(), 1)
        {
            *place.0.lock() = share;
        }
    }

    /// Counts `bytes` of a body or frame that is not complete; `None` if that is more than the holder's share.
    pub(crate) fn input(&self, bytes: usize) -> Option<Share<Holder>> {
        self.budgets.input.take(self.holder.clone(), bytes)
    }

    /// Room for an answer that is being made and may be large: its handler counts it while it gathers it.
    pub fn room(&self) -> Room {
        Room(Arc::new(Mutex::new(self.answer(0))))
    }

    /// Counts `bytes` of an answer that is not sent; `None` if that is more than the holder's share.
    pub(crate) fn answer(&self, bytes: usize) -> Option<Share<Holder>> {
        self.budgets.answers.take(self.holder.clone(), bytes)
    }
}

/// Room for one answer. The handler puts it among the extensions of its response, from where the server takes it over.
#[derive(Debug, Clone)]
pub struct Room(Arc<Mutex<Option<Share<Holder>>>>);

impl Room {
    /// Counts `bytes` more. Fails with `busy` if that is more than the asker's share.
    pub fn grow(&self, bytes: usize) -> Result<(), Failure> {
        let mut share = self.0.lock();
        let is_counted = share.as_mut().is_some_and(|share| share.grow(bytes));
        is_counted.then_some(()).ok_or_else(too_many_answers)
    }

    /// How much is counted.
    pub fn taken(&self) -> usize {
        self.0.lock().as_ref().map_or(0, Share::amount)
    }

    /// Gives back all but `bytes`.
    pub fn shrink_to(&self, bytes: usize) {
        if let Some(share) = &mut *self.0.lock() {
            share.shrink_to(bytes);
        }
    }

    pub(crate) fn into_share(self) -> Option<Share<Holder>> {
        self.0.lock().take()
    }
}

fn too_many_connections(owner: &Owner) -> Failure {
    let text = format!(
        "{owner} has its share of this hub's connections; close some, or raise limits.connections"
    );
    Failure::new(Reason::Busy, text)
}

/// Why an answer is not given.
pub(crate) fn too_many_answers() -> Failure {
    Failure::new(
        Reason::Busy,
        "too much of what you asked for before is unread; read it, then ask again",
    )
}
