"""What the command line says about learners of robust minima."""
