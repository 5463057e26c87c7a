// Which byte goes where when pixels of 2, 3 or 4 channels are taken apart or put together, 16 bytes of every channel at
// a time. Worked out by the compiler: pictures come in short rows, and a row would take less time than its table.
#ifndef NODE_DLPACK_CORE_CHANNEL_TABLES_H_
#define NODE_DLPACK_CORE_CHANNEL_TABLES_H_

#include <cstdint>

namespace node_dlpack {

// kChannels registers of 16 bytes in, as many out. Every byte of a result is found in one of the former: for each pair
// a table as the processors' byte shuffles take it, 0x80 for a byte that lies in another one.
template <int kChannels>
struct ChannelTable {
  alignas(16) uint8_t lanes[kChannels][kChannels][16] = {};  // [out][in]

  constexpr ChannelTable() = default;
  constexpr ChannelTable(int itemsize, bool deinterleave) {
    for (int i = 0; i < 16 * kChannels; ++i) {
      const int from = deinterleave ? FromPixels(i, itemsize) : FromChannels(i, itemsize);
      for (int in = 0; in < kChannels; ++in) {
        lanes[i / 16][in][i % 16] = static_cast<uint8_t>(from / 16 == in ? from % 16 : 0x80);
      }
    }
  }

 private:
  // Byte i of the channels one after the other, among the pixels.
  static constexpr int FromPixels(int i, int itemsize) {
    const int within = i % 16;
    return (within / itemsize * kChannels + i / 16) * itemsize + within % itemsize;
  }
  // Byte i of the pixels, among the channels one after the other.
  static constexpr int FromChannels(int i, int itemsize) {
    const int element = i / itemsize;
    return element % kChannels * 16 + element / kChannels * itemsize + i % itemsize;
  }
};

template <int kChannels, bool kDeinterleave>
struct ChannelTablesOfAllSizes {
  static constexpr ChannelTable<kChannels> kBySize[5] = {
      {1, kDeinterleave}, {2, kDeinterleave}, {4, kDeinterleave}, {8, kDeinterleave}, {16, kDeinterleave}};
};

// itemsize: 1, 2, 4, 8 or 16.
template <int kChannels, bool kDeinterleave>
inline const ChannelTable<kChannels>& ChannelTableFor(int64_t itemsize) {
  int power = 0;
  while (itemsize > int64_t{1} << power) ++power;
  return ChannelTablesOfAllSizes<kChannels, kDeinterleave>::kBySize[power];
}

}  // namespace node_dlpack

#endif  // NODE_DLPACK_CORE_CHANNEL_TABLES_H_
