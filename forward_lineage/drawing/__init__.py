"""Pictures: the pipeline of saved results with an impact painted in, and the roBDD of a row's lineage.

Layers are laid out here (`layered`), matplotlib draws and writes the file. Nothing here knows of Spark or of the store.
"""
