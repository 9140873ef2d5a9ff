"""What the command line says about scorecard learners."""
