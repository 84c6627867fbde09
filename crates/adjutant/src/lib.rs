//! Trees of agents, as a library and a command.
