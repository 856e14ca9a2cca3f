"""Many runs, one question: published studies, lifetimes, calibration."""
