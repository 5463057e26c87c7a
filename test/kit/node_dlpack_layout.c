#include "node_dlpack_layout.h"
