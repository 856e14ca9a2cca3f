"""What a person types, run whole: every verb, every shipped file, every documented command.

A *journey* is one or more commands, typed one after the other in a new folder in which `experiments`, `examples` and
`README.md` stand as in a checkout. The tables are the files `*.toml` of this folder. What the commands answered when
somebody last looked is in `kept/`: exit code, first lines, and the shape of each file that they wrote (columns of
tables, headings of pages, keys of JSON).

    python tests/journeys/keep.py [TABLE ...]    writes it again: read the difference before you commit it

The pages of the tutorial, docs/how-to and docs/worked hold their own answers (`worked_examples.py`). `test_complete.py`
fails when a verb, a shipped file or a documented command stands in no journey.
"""
