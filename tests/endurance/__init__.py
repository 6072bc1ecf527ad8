"""Endurance: kills, faults, clocks, full disks and long use, each ended by an audit. The long form is `scripts/endure`."""
