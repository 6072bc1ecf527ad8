"""Installing into a Hermes home and leaving it again, every change recorded and undone to the byte."""
