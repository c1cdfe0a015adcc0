"""The wire between the server and its nodes: agent.proto and its committed stubs."""
