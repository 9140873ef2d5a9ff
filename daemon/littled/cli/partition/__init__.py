"""What the command line says about partition learners."""
