"""The read-only dashboard: `quotree dashboard` serves it on this machine, with the rights of the user who runs it.

Only what shows: it watches as the reconciler does, decides with the same engine, and writes nothing. A rule belongs in
`shared.quota`, a sentence that the command line prints too in `cli.render`.
"""
