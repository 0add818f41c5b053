"""From files to documents, splits and memory-mapped tokens."""
