//! Front ends: each reads one stream of events and sends commands.
