"""Every error that a user can cause or mend.

StemmaError                 the command line prints it as one line and exits with 2
├── SettingsError           params.yaml: an unknown key, a value out of range, a pair that can't be
├── InputError              a file that is missing, empty, malformed or not what its checksum says
├── ValidationError         more rows failed validation than the settings allow
├── CorruptionError         bytes on disk do not match their manifest, and there is no older copy to use
├── TrainingError           training can't go on: a loss that is not finite, or no data to train on
├── BusyError               another process holds the lock of what this one would write
├── StageError              stages of a pipeline run failed
└── ReleaseError            a model can't be registered, loaded back or promoted
"""

__all__ = [
    "BusyError",
    "CorruptionError",
    "InputError",
    "ReleaseError",
    "SettingsError",
    "StageError",
    "StemmaError",
    "TrainingError",
    "ValidationError",
]


class StemmaError(Exception):
    """Something that the user can mend; the message says what and how, in one line."""


class SettingsError(StemmaError):
    """`params.yaml` has an unknown key, a value out of range, or a combination that can't be."""


class InputError(StemmaError):
    """An input file is missing, empty, malformed or not what its checksum says."""


class ValidationError(StemmaError):
    """More rows failed validation than the settings allow."""


class CorruptionError(StemmaError):
    """Bytes on disk do not match their manifest, and there is no older copy to use."""


class TrainingError(StemmaError):
    """Training can't go on: a loss that is not finite, or nothing to train on."""


class BusyError(StemmaError):
    """Another process holds the lock of what this one would write."""


class StageError(StemmaError):
    """Stages of a pipeline run failed; the message names them."""


class ReleaseError(StemmaError):
    """A model can't be registered, loaded back or promoted."""
