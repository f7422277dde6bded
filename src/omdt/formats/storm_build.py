"""Lets Storm build a model and write it as DRN: a script, since a model may crash Storm and its process with it.

Arguments: the model, the DRN file to write, and values of constants or nothing. What is wrong with the model goes to
standard error.
"""

import sys

DIGITS = 17
"""Significant digits with which every double survives being printed."""


def build(path: str, drn: str, constants: str) -> None:
    """Explore all states and write them with their variables, labels, choices and rewards."""
    import stormpy
    from stormpy.developer import DirectEncodingExporterOptions
    from stormpy.io import export_to_drn

    model = stormpy.parse_jani_model(path)[0] if path.endswith(".jani") else stormpy.parse_prism_program(path)
    if constants:
        model, _ = stormpy.instantiate_constants(model, constants)
    options = DirectEncodingExporterOptions()
    options.output_precision = DIGITS
    export_to_drn(stormpy.build_model(model, options=stormpy.BuilderOptions(build_full=True)), drn, options=options)


if __name__ == "__main__":
    try:
        build(*sys.argv[1:])
    except Exception as error:
        # Whatever Storm's many exceptions say is about the model.
        sys.exit(str(error))
