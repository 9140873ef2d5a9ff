"""What privacy costs: priced events, a filter with public caps, the conversion, the ledger."""
