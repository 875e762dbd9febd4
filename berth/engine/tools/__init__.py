"""Finds the programs that Berth drives, or makes them once and keeps them."""

from berth.engine.tools.find import find_or_make, look_for
from berth.engine.tools.folders import berth_home
from berth.engine.tools.program import Program, ToolError, program_names

__all__ = ["Program", "ToolError", "berth_home", "find_or_make", "look_for", "program_names"]
