from harbor_models import trajectory_model

__all__ = ["trajectory_model"]
