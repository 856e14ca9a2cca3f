"""What was measured: logs of boards and of virtual machines, analysed and compared with simulations."""
