"""How the product is reached over a wire: HTTP for people and tools, gRPC for nodes."""
