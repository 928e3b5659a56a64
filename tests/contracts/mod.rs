//! Contracts: replacing a record moves a release by no more than it declares, an attack attains most of that, and a sabotage
//! is caught; backends agree; nothing private shows.

// The longest ones come first by their name.
mod agreement;
mod autoencoder;
mod copies;
mod fairness;
mod leaks;
mod private_sample;
mod queries;
mod steps;
mod transport_factor;
