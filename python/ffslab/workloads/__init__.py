"""Workloads made elsewhere: recordings, job files of fio, command files of Postmark."""
