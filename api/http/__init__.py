"""The resource API over HTTP, in the shape of the Kubernetes API."""
