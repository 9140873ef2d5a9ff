"""Error on real streams of tables, beside other private methods and methods without privacy."""
