"""How declarations become loops: one learner, lanes, lazy. No algorithm is named here."""
