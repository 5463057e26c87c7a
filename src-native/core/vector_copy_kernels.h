// The kernels over vector registers, written once for every width. Included by one file an instruction set, within its
// compiler target and within a namespace that is that file's alone, after:
//   Vector       the processor's registers: kBytes wide, lanes of 16 bytes
//   SmallVector  registers of one lane, for what is too small for the others
// Both have: Type, Load, Store, Stream (an aligned store past the caches), Shuffle (the bytes of each lane as a table
// of one lane says, 0x80: zero), Table (one lane's bytes for all lanes), Or, UnpackLow and UnpackHigh (in each lane),
// TransposeLanes (of kLanes registers), ReverseLanes, LoadChannels<channels> (16 * channels bytes for each lane: the
// first 16 to the lane in the first register, the next in the second) and InterleaveLanes<channels> (from lanes of
// `channels` registers in turn to registers as they follow in memory).
// No lambdas here: the compiler target does not reach into them.

constexpr int64_t kLine = 64;

inline int64_t BytesToBoundary(const uint8_t* address, int64_t unit) {
  return static_cast<int64_t>(-reinterpret_cast<uintptr_t>(address) & static_cast<uintptr_t>(unit - 1));
}

template <bool kStream>
inline void Put(uint8_t* target, Vector::Type value) {
  if constexpr (kStream) {
    Vector::Stream(target, value);
  } else {
    Vector::Store(target, value);
  }
}

// ---- side by side

void Copy(uint8_t* target, const uint8_t* source, int64_t bytes, bool stream) {
  constexpr int64_t kShort = 512;  // the call costs more than the bytes
  if (!stream || bytes < kShort) {
    if (bytes < Vector::kBytes || bytes > kShort) {
      std::memcpy(target, source, static_cast<size_t>(bytes));
      return;
    }
    // The last register reaches back over bytes that were copied already.
    for (int64_t done = 0; done < bytes; done += Vector::kBytes) {
      const int64_t at = done < bytes - Vector::kBytes ? done : bytes - Vector::kBytes;
      Vector::Store(target + at, Vector::Load(source + at));
    }
    return;
  }
  int64_t done = BytesToBoundary(target, kLine);
  std::memcpy(target, source, static_cast<size_t>(done));
  for (; done + 4 * Vector::kBytes <= bytes; done += 4 * Vector::kBytes) {
    const Vector::Type a = Vector::Load(source + done);
    const Vector::Type b = Vector::Load(source + done + Vector::kBytes);
    const Vector::Type c = Vector::Load(source + done + 2 * Vector::kBytes);
    const Vector::Type d = Vector::Load(source + done + 3 * Vector::kBytes);
    Vector::Stream(target + done, a);
    Vector::Stream(target + done + Vector::kBytes, b);
    Vector::Stream(target + done + 2 * Vector::kBytes, c);
    Vector::Stream(target + done + 3 * Vector::kBytes, d);
  }
  for (; done + kLine <= bytes; done += kLine) {
    for (int64_t part = 0; part < kLine; part += Vector::kBytes) {
      Vector::Stream(target + done + part, Vector::Load(source + done + part));
    }
  }
  std::memcpy(target + done, source + done, static_cast<size_t>(bytes - done));
}

template <bool kStream>
void FillBytes(uint8_t* target, const uint8_t* pattern, int64_t itemsize, int64_t bytes) {
  int64_t done = BytesToBoundary(target, kLine);
  if (done > bytes) done = bytes;
  std::memcpy(target, pattern, static_cast<size_t>(done));
  const uint8_t* phase = pattern + done % itemsize;
  const Vector::Type value = Vector::Load(phase);
  for (; done + 4 * kLine <= bytes; done += 4 * kLine) {
    NODE_DLPACK_UNROLL
    for (int64_t part = 0; part < 4 * kLine; part += Vector::kBytes) Put<kStream>(target + done + part, value);
  }
  for (; done + kLine <= bytes; done += kLine) {
    for (int64_t part = 0; part < kLine; part += Vector::kBytes) Put<kStream>(target + done + part, value);
  }
  std::memcpy(target + done, phase, static_cast<size_t>(bytes - done));
}

void Fill(uint8_t* target, const uint8_t* element, int64_t itemsize, int64_t count, bool stream) {
  uint8_t pattern[2 * kLine];  // every itemsize divides a line, so a register may begin anywhere in the first element
  for (int64_t at = 0; at < 2 * kLine; at += itemsize)
    std::memcpy(pattern + at, element, static_cast<size_t>(itemsize));
  if (stream) return FillBytes<true>(target, pattern, itemsize, count * itemsize);
  FillBytes<false>(target, pattern, itemsize, count * itemsize);
}

// From the lowest of the source on, since row after row that is one walk upwards, which the processor reads ahead of;
// the order of the writes does not matter to it.
template <bool kStream>
void ReverseBytes(uint8_t* target, const uint8_t* lowest, int64_t itemsize, int64_t bytes) {
  uint8_t order[16];
  for (int64_t i = 0; i < 16; ++i)
    order[i] = static_cast<uint8_t>(16 - itemsize - i / itemsize * itemsize + i % itemsize);
  const Vector::Type table = Vector::Table(order);
  uint8_t* end = target + bytes;
  int64_t done = 0;
  if constexpr (kStream) {
    const auto head = static_cast<int64_t>(reinterpret_cast<uintptr_t>(end) % kLine);
    for (; done < head && done < bytes; done += itemsize) {
      std::memcpy(end - done - itemsize, lowest + done, static_cast<size_t>(itemsize));
    }
  }
  for (; done + kLine <= bytes; done += kLine) {
    for (int64_t part = 0; part < kLine; part += Vector::kBytes) {
      const Vector::Type value = Vector::Load(lowest + done + part);
      Put<kStream>(end - done - part - Vector::kBytes, Vector::ReverseLanes(Vector::Shuffle(value, table)));
    }
  }
  for (; done < bytes; done += itemsize) {
    std::memcpy(end - done - itemsize, lowest + done, static_cast<size_t>(itemsize));
  }
}

void Reverse(uint8_t* target, const uint8_t* source, int64_t itemsize, int64_t count, bool stream) {
  const uint8_t* lowest = source - (count - 1) * itemsize;
  const bool reaches_lines = BytesToBoundary(target, itemsize) == 0;
  if (stream && reaches_lines) return ReverseBytes<true>(target, lowest, itemsize, count * itemsize);
  ReverseBytes<false>(target, lowest, itemsize, count * itemsize);
}

// ---- channels

// A table of channel_tables.h in registers: kChannels of them in, kChannels out, each lane for itself.
template <int kChannels>
struct ChannelTables {
  Vector::Type tables[kChannels][kChannels];  // [out][in]

  inline explicit ChannelTables(const ChannelTable<kChannels>& table) {
    NODE_DLPACK_UNROLL
    for (int out = 0; out < kChannels; ++out) {
      NODE_DLPACK_UNROLL
      for (int in = 0; in < kChannels; ++in) tables[out][in] = Vector::Table(table.lanes[out][in]);
    }
  }

  inline Vector::Type Collect(const Vector::Type* in, int out) const {
    Vector::Type value = Vector::Shuffle(in[0], tables[out][0]);
    NODE_DLPACK_UNROLL
    for (int i = 1; i < kChannels; ++i) value = Vector::Or(value, Vector::Shuffle(in[i], tables[out][i]));
    return value;
  }
};

constexpr int64_t kChannelsAhead = 1024;

// One element of each pixel, one by one.
inline void CopyChannel(uint8_t* target, const uint8_t* source, int64_t itemsize, int64_t pixel_bytes, int64_t first,
                        int64_t end) {
  for (int64_t pixel = first; pixel < end; ++pixel) {
    std::memcpy(target + pixel * itemsize, source + pixel * pixel_bytes, static_cast<size_t>(itemsize));
  }
}

template <int kChannels, int kKept, bool kStream>
void DeinterleaveAs(uint8_t* target, int64_t target_step, const uint8_t* source, int64_t itemsize, int64_t pixels) {
  const ChannelTables<kChannels> tables(ChannelTableFor<kChannels, true>(itemsize));
  const int64_t pixel_bytes = kChannels * itemsize;
  const int64_t step = Vector::kBytes / itemsize;
  int64_t pixel = 0;
  if constexpr (kStream) {
    const int64_t head = BytesToBoundary(target, Vector::kBytes) / itemsize;
    pixel = head < pixels ? head : pixels;
    for (int channel = 0; channel < kKept; ++channel) {
      CopyChannel(target + channel * target_step, source + channel * itemsize, itemsize, pixel_bytes, 0, pixel);
    }
  }
  // Of the last pixel no more than what is kept may be read.
  const int64_t whole = kKept == kChannels ? pixels : pixels - 1;
  for (; pixel + step <= whole; pixel += step) {
    Vector::Type in[kChannels];
    const uint8_t* first = source + pixel * pixel_bytes;
    Vector::LoadChannels<kChannels>(first, in);
    if constexpr (kStream) {
      for (int64_t at = 0; at < kChannels * Vector::kBytes; at += kLine) Prefetch(first + kChannelsAhead + at);
    }
    NODE_DLPACK_UNROLL
    for (int channel = 0; channel < kKept; ++channel) {
      Put<kStream>(target + channel * target_step + pixel * itemsize, tables.Collect(in, channel));
    }
  }
  for (int channel = 0; channel < kKept; ++channel) {
    CopyChannel(target + channel * target_step, source + channel * itemsize, itemsize, pixel_bytes, pixel, pixels);
  }
}

// The same for rows that reach a boundary at different pixels: each channel runs ahead of the others by as many as it
// takes, so that every row is written in whole registers. What is read more than once lies in the nearest cache.
template <int kChannels, int kKept>
void DeinterleaveShifted(uint8_t* target, int64_t target_step, const uint8_t* source, int64_t itemsize,
                         int64_t pixels) {
  const ChannelTables<kChannels> tables(ChannelTableFor<kChannels, true>(itemsize));
  const int64_t pixel_bytes = kChannels * itemsize;
  const int64_t step = Vector::kBytes / itemsize;
  int64_t ahead[kKept];
  int64_t farthest = 0;
  for (int channel = 0; channel < kKept; ++channel) {
    ahead[channel] = BytesToBoundary(target + channel * target_step, Vector::kBytes) / itemsize;
    if (ahead[channel] > pixels) ahead[channel] = pixels;
    if (ahead[channel] > farthest) farthest = ahead[channel];
    CopyChannel(target + channel * target_step, source + channel * itemsize, itemsize, pixel_bytes, 0, ahead[channel]);
  }
  const int64_t whole = kKept == kChannels ? pixels : pixels - 1;
  int64_t pixel = 0;
  for (; pixel + farthest + step <= whole; pixel += step) {
    NODE_DLPACK_UNROLL
    for (int channel = 0; channel < kKept; ++channel) {
      const int64_t at = pixel + ahead[channel];
      const uint8_t* first = source + at * pixel_bytes;
      if (channel == 0) {
        for (int64_t line = 0; line < kChannels * Vector::kBytes; line += kLine) {
          Prefetch(first + kChannelsAhead + line);
        }
      }
      Vector::Type in[kChannels];
      Vector::LoadChannels<kChannels>(first, in);
      Vector::Stream(target + channel * target_step + at * itemsize, tables.Collect(in, channel));
    }
  }
  for (int channel = 0; channel < kKept; ++channel) {
    CopyChannel(target + channel * target_step, source + channel * itemsize, itemsize, pixel_bytes,
                pixel + ahead[channel], pixels);
  }
}

template <int kChannels, int kKept>
void DeinterleaveChannels(uint8_t* target, int64_t target_step, const uint8_t* source, int64_t itemsize, int64_t pixels,
                          bool stream) {
  if (!stream || BytesToBoundary(target, itemsize) != 0 || target_step % itemsize != 0) {
    DeinterleaveAs<kChannels, kKept, false>(target, target_step, source, itemsize, pixels);
  } else if (kKept == 1 || target_step % Vector::kBytes == 0) {
    DeinterleaveAs<kChannels, kKept, true>(target, target_step, source, itemsize, pixels);
  } else {
    DeinterleaveShifted<kChannels, kKept>(target, target_step, source, itemsize, pixels);
  }
}

void Deinterleave(uint8_t* target, int64_t target_step, const uint8_t* source, int64_t itemsize, int64_t pixels,
                  int channels, int kept, bool stream) {
  if (channels == 2 && kept == 1) return DeinterleaveChannels<2, 1>(target, 0, source, itemsize, pixels, stream);
  if (channels == 3 && kept == 1) return DeinterleaveChannels<3, 1>(target, 0, source, itemsize, pixels, stream);
  if (kept == 1) return DeinterleaveChannels<4, 1>(target, 0, source, itemsize, pixels, stream);
  if (channels == 2) return DeinterleaveChannels<2, 2>(target, target_step, source, itemsize, pixels, stream);
  if (channels == 3) return DeinterleaveChannels<3, 3>(target, target_step, source, itemsize, pixels, stream);
  if (kept == 3) return DeinterleaveChannels<4, 3>(target, target_step, source, itemsize, pixels, stream);
  DeinterleaveChannels<4, 4>(target, target_step, source, itemsize, pixels, stream);
}

template <int kChannels, bool kStream>
void InterleaveFrom(uint8_t* target, const uint8_t* source, int64_t source_step, int64_t itemsize, int64_t pixels,
                    int64_t head) {
  const ChannelTables<kChannels> tables(ChannelTableFor<kChannels, false>(itemsize));
  const auto bytes = static_cast<size_t>(itemsize);
  const int64_t pixel_bytes = kChannels * itemsize;
  const int64_t step = Vector::kBytes / itemsize;
  int64_t pixel = 0;
  for (int64_t end = head; pixel < pixels;) {
    if (pixel == end) {
      for (; pixel + step <= pixels; pixel += step) {
        Vector::Type in[kChannels];
        Vector::Type out[kChannels];
        NODE_DLPACK_UNROLL
        for (int channel = 0; channel < kChannels; ++channel) {
          const uint8_t* row = source + channel * source_step + pixel * itemsize;
          in[channel] = Vector::Load(row);
          if constexpr (kStream) Prefetch(row + kChannelsAhead);
        }
        NODE_DLPACK_UNROLL
        for (int i = 0; i < kChannels; ++i) out[i] = tables.Collect(in, i);
        Vector::InterleaveLanes<kChannels>(out);
        uint8_t* to = target + pixel * pixel_bytes;
        NODE_DLPACK_UNROLL
        for (int i = 0; i < kChannels; ++i) Put<kStream>(to + i * Vector::kBytes, out[i]);
      }
      end = pixels;
    }
    for (; pixel < end; ++pixel) {
      for (int channel = 0; channel < kChannels; ++channel) {
        std::memcpy(target + pixel * pixel_bytes + channel * itemsize,
                    source + channel * source_step + pixel * itemsize, bytes);
      }
    }
  }
}

template <int kChannels>
void InterleaveChannels(uint8_t* target, const uint8_t* source, int64_t source_step, int64_t itemsize, int64_t pixels,
                        bool stream) {
  // Pixels of three elements reach a boundary after as many of them as it takes, if ever.
  for (int64_t head = 0; stream && head < Vector::kBytes && head < pixels; ++head) {
    if (BytesToBoundary(target + head * kChannels * itemsize, Vector::kBytes) == 0) {
      return InterleaveFrom<kChannels, true>(target, source, source_step, itemsize, pixels, head);
    }
  }
  InterleaveFrom<kChannels, false>(target, source, source_step, itemsize, pixels, 0);
}

void Interleave(uint8_t* target, const uint8_t* source, int64_t source_step, int64_t itemsize, int64_t pixels,
                int channels, bool stream) {
  if (channels == 2) return InterleaveChannels<2>(target, source, source_step, itemsize, pixels, stream);
  if (channels == 3) return InterleaveChannels<3>(target, source, source_step, itemsize, pixels, stream);
  InterleaveChannels<4>(target, source, source_step, itemsize, pixels, stream);
}

void Finish() {
  Vector::Finish();
}
