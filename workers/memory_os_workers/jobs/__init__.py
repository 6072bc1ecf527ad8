"""The job queue: what is put into it, who works on it, and what holds when it is not there.

The service is the producer and the only writer of memory; workers are stateless. The queue is a hint: every job is derived
again from what is on disk and in memory.db (`dispatch`), so that a lost queue loses nothing.
"""
