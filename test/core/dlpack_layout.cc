#include "dlpack_layout.h"

#include <cstdint>
#include <type_traits>

static_assert(std::is_same_v<std::underlying_type_t<DLDeviceType>, int32_t>,
              "DLDeviceType is stored in 32 bits, signed");
static_assert(std::is_standard_layout_v<DLManagedTensor>, "a C struct");
static_assert(std::is_standard_layout_v<DLManagedTensorVersioned>, "a C struct");
static_assert(std::is_standard_layout_v<DLPackExchangeAPI>, "a C struct");

void node_dlpack_layout_as_cc(const DLPackExchangeAPI* table);
void node_dlpack_layout_as_cc(const DLPackExchangeAPI* table) {
  dlpack_exchange_signatures(table);
}
