"""What the pages of the reference leave out: what a reader cannot use, and what is documented elsewhere."""

UNPRINTABLE = "=<"  # a default without a literal: params=<factory>, wrap=<built-in function asarray>
FIELD_OF_TUPLE = "Alias for field number"  # the class's docstring describes the field


def signature_without_addresses(app, what, name, obj, options, signature, returned):
    """Drop the signature of a result's class, which readers do not construct, where a default cannot be written."""
    return ("", returned) if signature and UNPRINTABLE in signature else None


def skipped(app, what, name, obj, skip, options):
    """Skip functions of other libraries that are defaults of fields, and fields of tuples without a docstring."""
    module = (getattr(obj, "__module__", None) or "").split(".")[0]
    if module == "numpy" or (getattr(obj, "__doc__", None) or "").startswith(FIELD_OF_TUPLE):
        return True
    return None


def setup(app):
    """Tell Sphinx of both."""
    app.connect("autodoc-process-signature", signature_without_addresses)
    app.connect("autodoc-skip-member", skipped)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
