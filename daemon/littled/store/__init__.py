"""The store: what is durable. A journal with a hash chain, the ledger, the releases, snapshots."""
