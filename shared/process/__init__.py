"""The frame of a process: settings file, health port, signals, exit. Import the modules themselves.

Nothing here knows what the process is for; the settings of the quota itself are the one part that processes share.
"""
