"""Charts: one short function each, from tidy data to an Altair chart that a page, a paper and a notebook share."""
