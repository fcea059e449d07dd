"""The logger of dynhp: nothing is printed unless the program asks for it."""

import logging

logger = logging.getLogger("dynhp")
logger.addHandler(logging.NullHandler())
