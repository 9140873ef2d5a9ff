"""What the command line says about learners of most frequent items."""
