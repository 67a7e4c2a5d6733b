"""What is on disk of saved results: versions and their manifests, what is still needed of them, whether it is whole."""
