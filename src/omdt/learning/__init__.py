"""Learning: small trees without a model, from the steps of a simulator or of a log."""
