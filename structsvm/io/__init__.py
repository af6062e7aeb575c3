"""What users' files hold: recordings, images, sound and films, their labels; read and written."""

from structsvm.support.lazy import lazy

__getattr__, __dir__, __all__ = lazy(__name__, __file__)
