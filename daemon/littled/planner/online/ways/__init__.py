"""Ways of selection as the planner knows them: a module each; `register` knows all."""
