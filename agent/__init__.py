"""The process on a node: it runs jobs, watches them and tells the server what it sees."""
