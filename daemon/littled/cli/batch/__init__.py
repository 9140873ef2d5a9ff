"""What the command line says of learners that publish a rule from each window."""
