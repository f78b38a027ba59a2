//! Accounting of the server's resources: connections, incomplete input, and unsent answers. Each resource has
//! one total that owners and network addresses divide by the rule of [`Shares`].

use std::{
    net::{IpAddr, Ipv6Addr, SocketAddr},
    sync::{Arc, Weak},
};

use jackfield_core::shares::{Share, Shares};
use jackfield_model::{Failure, Owner, Reason};
use parking_lot::Mutex;

use super::ServerLimits;

/// Factor for the number of connections of one owner or address, relative to the free ones. With two, a
/// single address, be it a proxy or a machine that runs 10,000 agents, gets two thirds of the default 18,000.
const PLACES_APPETITE: usize = 2;

/// The holder of a share of a total.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum ShareHolder {
    /// An owner who authenticated with a token.
    Owner(Owner),
    /// All clients of a network address without a token.
    Address(IpAddr),
}

impl ShareHolder {
    /// Returns the holder for a network address. The addresses of an IPv6 /64 network count as one, because a
    /// client with one of them has all of them.
    pub fn at(addr: SocketAddr) -> Self {
        Self::Address(match addr.ip().to_canonical() {
            IpAddr::V6(ip) => Ipv6Addr::from_bits(ip.to_bits() & !u128::from(u64::MAX)).into(),
            ip @ IpAddr::V4(_) => ip,
        })
    }
}

/// Totals of one server.
#[derive(Debug)]
pub(crate) struct ServerBudgets {
    /// Connections.
    places: Arc<Shares<ShareHolder>>,
    /// Connections reserved for the operator.
    operator: Arc<Shares<ShareHolder>>,
    /// Bytes of incomplete bodies and frames.
    input: Arc<Shares<ShareHolder>>,
    /// Bytes of unsent answers.
    pub(crate) answers: Arc<Shares<ShareHolder>>,
}

impl ServerBudgets {
    pub(crate) fn new(limits: &ServerLimits) -> Arc<Self> {
        Arc::new(Self {
            places: Shares::with_appetite(limits.max_connections, PLACES_APPETITE),
            operator: Shares::with_appetite(limits.operator_connections, PLACES_APPETITE),
            input: Shares::new(limits.input_total),
            answers: Shares::new(limits.answers_total),
        })
    }

    /// Reserves a slot for a connection from `addr`, or returns `None` if no slot is free.
    pub(crate) fn admit(self: &Arc<Self>, addr: SocketAddr) -> Option<AdmittedConnection> {
        let holder = ShareHolder::at(addr);
        let (share, is_operators) = match self.places.take(holder.clone(), 1) {
            Some(share) => (share, false),
            None => (self.operator.take(holder.clone(), 1)?, true),
        };
        let place = Arc::new(ConnectionSlot(Mutex::new(share)));
        let account = Account {
            holder,
            budgets: self.clone(),
            place: Arc::downgrade(&place),
        };
        Some(AdmittedConnection {
            place,
            account,
            is_operators,
        })
    }
}

/// A connection with a reserved slot.
pub(crate) struct AdmittedConnection {
    pub(crate) place: Arc<ConnectionSlot>,
    pub(crate) account: Account,
    /// Whether the slot is one of those reserved for the operator.
    pub(crate) is_operators: bool,
}

/// The slot of one connection, released on drop.
#[derive(Debug)]
pub(crate) struct ConnectionSlot(Mutex<Share<ShareHolder>>);

/// The account that a connection or request is counted for.
#[derive(Debug, Clone)]
pub struct Account {
    holder: ShareHolder,
    budgets: Arc<ServerBudgets>,
    /// Slot of the connection; the connection alone keeps the slot alive.
    place: Weak<ConnectionSlot>,
}

impl Account {
    /// Returns the holder of the account.
    pub fn holder(&self) -> &ShareHolder {
        &self.holder
    }

    /// Returns the same account for a different holder.
    pub(crate) fn of(&self, holder: ShareHolder) -> Self {
        Self {
            holder,
            ..self.clone()
        }
    }

    /// Counts the connection for `owner` instead of for its network address. Fails with `busy` if the owner
    /// has more connections than its share.
    pub fn move_to(&mut self, owner: &Owner) -> Result<(), Failure> {
        let holder = ShareHolder::Owner(owner.clone());
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

    /// Returns the holder that the connection is counted for, or `None` once the connection is gone.
    pub(crate) fn slot_holder(&self) -> Option<ShareHolder> {
        let place = self.place.upgrade()?;
        let holder = place.0.lock().owner().clone();
        Some(holder)
    }

    /// Counts the connection for `address` again, if the address has a free slot.
    pub(crate) fn move_back(&self, address: &ShareHolder) {
        if let Some(place) = self.place.upgrade()
            && let Some(share) = self.budgets.places.take(address.clone(), 1)
        {
            *place.0.lock() = share;
        }
    }

    /// Counts `bytes` of an incomplete body or frame; returns `None` beyond the holder's share.
    pub(crate) fn input(&self, bytes: usize) -> Option<Share<ShareHolder>> {
        self.budgets.input.take(self.holder.clone(), bytes)
    }

    /// Returns the [`AnswerReservation`] for an answer under construction that may be large. The handler counts the answer
    /// while collecting its parts.
    pub fn room(&self) -> AnswerReservation {
        AnswerReservation(Arc::new(Mutex::new(self.answer(0))))
    }

    /// Counts `bytes` of an unsent answer; returns `None` beyond the holder's share.
    pub(crate) fn answer(&self, bytes: usize) -> Option<Share<ShareHolder>> {
        self.budgets.answers.take(self.holder.clone(), bytes)
    }
}

/// Reserved memory for one answer. The handler adds the [`AnswerReservation`] to the extensions of its response, where the
/// server takes it over.
#[derive(Debug, Clone)]
pub struct AnswerReservation(Arc<Mutex<Option<Share<ShareHolder>>>>);

impl AnswerReservation {
    /// Reserves `bytes` more. Fails with `busy` beyond the caller's share.
    pub fn grow(&self, bytes: usize) -> Result<(), Failure> {
        let mut share = self.0.lock();
        let is_counted = share.as_mut().is_some_and(|share| share.grow(bytes));
        is_counted.then_some(()).ok_or_else(too_many_answers)
    }

    /// Returns the number of reserved bytes.
    pub fn taken(&self) -> usize {
        self.0.lock().as_ref().map_or(0, Share::amount)
    }

    /// Releases all but `bytes`.
    pub fn shrink_to(&self, bytes: usize) {
        if let Some(share) = &mut *self.0.lock() {
            share.shrink_to(bytes);
        }
    }

    pub(crate) fn into_share(self) -> Option<Share<ShareHolder>> {
        self.0.lock().take()
    }
}

fn too_many_connections(owner: &Owner) -> Failure {
    let text = format!(
        "{owner} has its share of this hub's connections; close some, or raise limits.connections"
    );
    Failure::new(Reason::Busy, text)
}

/// Returns the failure for an answer beyond the caller's share.
pub(crate) fn too_many_answers() -> Failure {
    Failure::new(
        Reason::Busy,
        "too much of what you asked for before is unread; read it, then ask again",
    )
}
