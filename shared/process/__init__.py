"""The frame of a process: settings file, health port, signals, exit. Import the modules themselves.

Code here does not depend on the purpose of the process; the quota settings are the one part that processes share.
"""
