//! A seeded world in virtual time, with a network, disks and crashes.
