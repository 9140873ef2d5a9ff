"""Private learners as pure state machines: `step(state, event, noise)`; no I/O and no clock."""
