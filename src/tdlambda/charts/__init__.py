"""Charts: one short function each, from data to an Altair chart that a page, a paper and a notebook share."""
