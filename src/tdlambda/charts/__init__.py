"""Charts: one short function each, from data to an Altair chart."""
