"""`from ffslab.inspection import inspect_image, tree_of`, as docs/inspect.md says it."""

from ffslab.images.inspection import inspect_image, tree_of

__all__ = ["inspect_image", "tree_of"]
