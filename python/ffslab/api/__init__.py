"""What Python programs use: experiments and their runs, machines, states, profiles."""
