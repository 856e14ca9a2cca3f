"""Logs of flash and of calls, from the probe kit, Flashmon or a simulated run: `ffslab trace report` and `trace diff`.

Reading order: `header` and `columns` (what logs say), `lines`, `reader`, `checks` (text to columns, refusals, flags),
`recording` (the logs of one session), `operations`, `attribution`, `causes`, `wear` (the questions), `summary` (all
answers), `diff` (two sessions); `tables`, `plots`, `page`, `diff_page` show them, `verb` is called by the command.
"""
