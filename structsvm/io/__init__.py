"""Reading and writing of recordings, images, sound, films and labels."""

from structsvm.support.lazy import lazy

__getattr__, __dir__, __all__ = lazy(__name__, __file__)
