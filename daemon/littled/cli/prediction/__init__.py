"""What the command line says of learners that answer questions."""
