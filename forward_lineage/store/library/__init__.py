"""The files of saved results on disk: versions and their manifests, which are still needed, whether one is whole."""
