/* Nothing of this in a toy. */
#include "spiffs_nucleus.h"
