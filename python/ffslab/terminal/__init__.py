"""What stands on a terminal: the answer, remarks, a progress bar."""
