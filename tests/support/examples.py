"""How Hypothesis looks for examples: the same ones each time, and without a look at the clock."""

from hypothesis import HealthCheck, settings

settings.register_profile(
    "dynhp",
    deadline=None,
    derandomize=True,
    max_examples=40,
    suppress_health_check=[HealthCheck.too_slow],
)
settings.load_profile("dynhp")
