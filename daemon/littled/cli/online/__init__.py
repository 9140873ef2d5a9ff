"""What the command line says of online learners."""
