"""What is inside a card: `ffslab calibrate --flashbench` fits a class of translation layers to a probe's timings."""
