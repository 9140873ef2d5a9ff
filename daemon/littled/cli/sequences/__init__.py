"""What the command line says about learners of one-way sequences."""
