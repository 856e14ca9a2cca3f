"""Files in and out: inputs are read within limits, results appear whole or not at all, whatever signal comes."""
