"""The standing campaign: draws cases from a seed, judges them, shrinks what fails, counts (`docs/campaign.md`).

    make campaign MINUTES=10 SEED=1
    make campaign CASE=campaign/faults/FILE.json

A kind of cases is a file here: `calls`, `cuts`, `same`, `images`, `kills`. `machines` draws what they run on from the
registries, `files` is the model of what a file system holds, `driver` goes on until the time is over.
"""
