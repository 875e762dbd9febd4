"""Values put into the text of a YAML file that people wrote: every other character stays."""

import json
from collections.abc import Sequence

import yaml


def with_value(text: str, path: Sequence[str], value: str) -> str:
    """The text with the scalar `value` at `path`, below mappings made where they are missing.

    Comments, order and spelling of all else stay. A new key goes to the end of its mapping.

    Raises:
        ValueError: if something on the way is no mapping over several lines.
    """
    root = yaml.compose(text, Loader=yaml.SafeLoader)
    if root is None:
        return text + _block(path, value, 0)
    node = root
    for depth, key in enumerate(path):
        if not isinstance(node, yaml.MappingNode) or (node.flow_style and node.value):
            where = ".".join(path[:depth]) or "the file"
            raise ValueError(f"{where}: is not a mapping over several lines; write it as one")
        below = next((child for name, child in node.value if name.value == key), None)
        if below is None:
            return _added(text, node, path[depth:], value, first=depth == 0)
        node = below
    if not isinstance(node, yaml.ScalarNode):
        raise ValueError(f"{'.'.join(path)}: is not a single value; write it as one")
    return text[: node.start_mark.index] + _scalar(value) + text[node.end_mark.index :]


def _added(
    text: str, mapping: yaml.MappingNode, path: Sequence[str], value: str, *, first: bool
) -> str:
    if not mapping.value and not first:  # {}
        indent = _indent_of_line(text, mapping.start_mark.index) + 2
        head = text[: mapping.start_mark.index].rstrip(" ")
        return f"{head}\n{_block(path, value, indent).rstrip()}{text[mapping.end_mark.index :]}"
    indent = mapping.value[0][0].start_mark.column if mapping.value else 0
    end = text.find("\n", _last_character(mapping))
    head = text if end < 0 else text[: end + 1]
    if not head.endswith("\n"):
        head += "\n"
    return head + _block(path, value, indent) + ("" if end < 0 else text[end + 1 :])


def _last_character(node: yaml.Node) -> int:
    """Where the last value of the node ends; a block mapping itself ends after comments."""
    if isinstance(node, yaml.MappingNode) and node.value and not node.flow_style:
        return _last_character(node.value[-1][1])
    if isinstance(node, yaml.SequenceNode) and node.value and not node.flow_style:
        return _last_character(node.value[-1])
    return max(int(node.end_mark.index) - 1, int(node.start_mark.index))


def _indent_of_line(text: str, index: int) -> int:
    line = text[text.rfind("\n", 0, index) + 1 : index]
    return len(line) - len(line.lstrip(" "))


def _block(path: Sequence[str], value: str, indent: int) -> str:
    lines = [f"{' ' * (indent + 2 * depth)}{_scalar(key)}:" for depth, key in enumerate(path)]
    return "\n".join(lines) + f" {_scalar(value)}\n"


def _scalar(text: str) -> str:
    """Plain where YAML reads the same text or day back, else in quotes."""
    read = yaml.safe_load(text)
    same = str(read) == text and not isinstance(read, bool | int | float)
    return text if same else json.dumps(text)
