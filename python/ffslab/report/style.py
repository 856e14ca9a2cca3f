"""The style sheet of the report."""

STYLE = """
body { font: 15px/1.5 system-ui, sans-serif; max-width: 68rem; margin: 2rem auto; padding: 0 1rem; color: #1a1a1a;
  background: #fff; }
h1 { font-size: 1.6rem; } h2 { font-size: 1.15rem; margin-top: 2rem; border-bottom: 1px solid #ccc; }
table { border-collapse: collapse; font-variant-numeric: tabular-nums; font-size: .9rem; margin: .8rem 0; }
/* A wide table takes the room to the right of the text, then scrolls. */
table { display: block; overflow-x: auto; width: max-content; max-width: max(100%, calc(50vw + 32rem)); }
th, td { padding: .2rem .6rem; text-align: right; white-space: nowrap; border-bottom: 1px solid #eee; }
th { white-space: normal; vertical-align: bottom; max-width: 12rem; }
th:first-child, td:first-child { text-align: left; padding-left: 0; }
th:first-child { white-space: nowrap; max-width: none; }
th.text, td.text { text-align: left; } td.wraps { white-space: normal; max-width: 34rem; }
small { color: #666; } td { vertical-align: top; } summary { cursor: pointer; margin: .5rem 0; }
figure { margin: 1rem 0; overflow-x: auto; } figure svg { width: 100%; min-width: 44rem; height: auto; }
pre { background: #f6f6f6; padding: 1rem; overflow-x: auto; }
"""
