"""Figures, tables and the HTML report of ReTensor, drawn from result rows alone."""
