"""The version of this code, for client, server and agent alike."""

VERSION = "0.1.0"
