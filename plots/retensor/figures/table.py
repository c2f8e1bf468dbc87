"""The values themselves: a table, of which no picture is made."""
