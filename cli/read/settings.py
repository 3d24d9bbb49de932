"""Load the quota settings that a command decides by: those of a settings file, or the defaults."""

from shared.quota.model.settings import QuotaSettings


def quota_settings(path: str | None) -> QuotaSettings:
    """Return the settings in `path`: its `quota:` part, or the whole file without one. None: the defaults.

    Raises SettingsProblem naming every bad key.
    """
    if path is None:
        return QuotaSettings()
    from shared.process.quota_settings import QuotaSettingsFile
    from shared.process.settings import load_settings

    return load_settings(path, QuotaSettingsFile, part="quota").settings()
