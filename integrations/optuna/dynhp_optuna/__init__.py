"""dynhp with Optuna: its samplers propose candidates, its studies tune settings and show rounds."""

from __future__ import annotations

try:
    import optuna  # noqa: F401 - only to see whether it is there
except ModuleNotFoundError as missing:
    raise ImportError("dynhp_optuna needs Optuna: pip install 'dynhp[optuna]'") from missing

from dynhp.frameworks import Integration, register_integration
from dynhp_optuna.export import study_of
from dynhp_optuna.objective import AdaptedRun
from dynhp_optuna.proposer import OptunaProposer
from dynhp_optuna.tuning import tune

__all__ = ["AdaptedRun", "OptunaProposer", "study_of", "tune"]

register_integration(Integration(package=__name__, frameworks=("optuna",)))
