"""How a process runs: its settings file, its health port, its signals, its end. Import the modules themselves.

Nothing here knows what the process is for; the settings of the quota itself are the one part that processes share.
"""
