"""The processes: the service with its HTTP API, its background work, and the command line."""
