"""Private mechanisms on integers, and the keyed stream that all their noise comes from."""
