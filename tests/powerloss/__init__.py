"""Power loss: what a disk may hold after one, rebuilt from the writes and syncs of one real run of the store."""
