"""The resource trackers of multiprocessing and loky: processes that remove what a stopped run leaves behind."""

import sys
from types import ModuleType


def start_silently(tracker: ModuleType) -> None:
    """Start a tracker's process with an option that keeps it from complaining about what it removes."""
    option = "ignore:resource_tracker"
    sys.warnoptions.append(option)  # a new Python process inherits these options
    try:
        tracker.ensure_running()
    finally:
        sys.warnoptions.remove(option)
