"""Files that were made to break their reader, folders that were tampered with, disks that are full.

`python -m tests.hostile` (make hostile) makes each of them, has a process of its own read it, and compares error, time
and memory with what is promised in docs/reliability.md. Nothing large is kept: files are made when they are needed.
"""
