"""How each kind looks in a table, in a sentence and in `describe`: pure functions of wire objects."""
