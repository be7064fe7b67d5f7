//! What tables say arrives in the record, and what they say wrong is refused at its place.

mod arrives;
mod flight;
mod refused;
