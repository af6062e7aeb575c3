from structsvm.modeling.public import Certified as Certified
from structsvm.modeling.public import OracleMax as OracleMax
from structsvm.modeling.public import Plane as Plane
from structsvm.modeling.public import StructuredHinge as StructuredHinge
from structsvm.modeling.public import segmentation_hinge as segmentation_hinge
