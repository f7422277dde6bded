"""Coarse search: proofs at any size, by partial trees whose thresholds are ranges that are halved where it matters."""
