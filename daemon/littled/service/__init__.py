"""Everything that waits: sockets, sessions, intake, engine threads, subscribers, HTTP, systemd."""
