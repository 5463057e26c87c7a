#include "dlpack_layout.h"

/* A translation unit may not be empty. */
void node_dlpack_layout_as_c(const DLPackExchangeAPI* table);
void node_dlpack_layout_as_c(const DLPackExchangeAPI* table) {
  dlpack_exchange_signatures(table);
}
