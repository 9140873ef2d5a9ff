"""Ways of selecting the next rule: a module each, behind `base.Selection`; `register` knows all."""
