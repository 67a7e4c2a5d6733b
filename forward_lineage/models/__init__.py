"""Estimators of scikit-learn over tracked arrays: fitted models and predictions that say what they were made of.

Needs scikit-learn, the extra `models`, and no Spark.
"""

from forward_lineage.models.folds import cross_val_predict
from forward_lineage.models.model import Model, fit
from forward_lineage.models.table import register

__all__ = ["Model", "cross_val_predict", "fit", "register"]
