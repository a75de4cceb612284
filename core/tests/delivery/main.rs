//! Two endpoints and a wire: what each does for the other, whatever happens on the way. One behaviour a file.

mod basics;
mod busy;
mod restart;
mod session;
mod stranger;
mod support;
