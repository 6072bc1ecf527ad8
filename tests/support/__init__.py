"""What tests share: a scripted model server, Hermes homes, and the real memory-os service."""
