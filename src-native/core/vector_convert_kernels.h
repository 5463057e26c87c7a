// The loops of conversions, written once for every width. Included by one file an instruction set, within its compiler
// target and within a namespace that is that file's alone, after:
//   Floats   registers of kWidth floats: Type, Load, Store, SetAll, Multiply, Add
//   elements (Uint8, Float16, …)   kBytes of one; Load and Store of kWidth of them from and to a register of floats
// No lambdas here: the compiler target does not reach into them.

struct Float32 {
  static constexpr int64_t kBytes = 4;
  static inline Floats::Type Load(const uint8_t* at) { return Floats::Load(at); }
};

template <typename Element, bool kMapped>
inline Floats::Type LoadMapped(const uint8_t* at, Floats::Type scale, Floats::Type offset) {
  const Floats::Type value = Element::Load(at);
  if constexpr (!kMapped) return value;
  return Floats::Add(Floats::Multiply(value, scale), offset);
}

// What is left over at the end goes through copies that are long enough.
template <typename Element, bool kMapped>
void LoadAll(const uint8_t* source, int64_t count, LinearMap map, uint8_t* out) {
  constexpr int64_t kFloat = sizeof(float);
  const Floats::Type scale = Floats::SetAll(map.scale);
  const Floats::Type offset = Floats::SetAll(map.offset);
  int64_t done = 0;
  for (; done + Floats::kWidth <= count; done += Floats::kWidth) {
    Floats::Store(out + done * kFloat, LoadMapped<Element, kMapped>(source + done * Element::kBytes, scale, offset));
  }
  if (done == count) return;
  uint8_t rest[Floats::kWidth * Element::kBytes] = {};
  uint8_t values[Floats::kWidth * kFloat];
  const auto left = static_cast<size_t>(count - done);
  std::memcpy(rest, source + done * Element::kBytes, left * Element::kBytes);
  Floats::Store(values, LoadMapped<Element, kMapped>(rest, scale, offset));
  std::memcpy(out + done * kFloat, values, left * kFloat);
}

template <typename Element>
void Load(const uint8_t* source, int64_t count, const LinearMap* map, uint8_t* out) {
  if (map == nullptr) {
    LoadAll<Element, false>(source, count, LinearMap{}, out);
  } else {
    LoadAll<Element, true>(source, count, *map, out);
  }
}

template <typename Element>
void Store(const uint8_t* in, uint8_t* target, int64_t count) {
  constexpr int64_t kFloat = sizeof(float);
  int64_t done = 0;
  for (; done + Floats::kWidth <= count; done += Floats::kWidth) {
    Element::Store(target + done * Element::kBytes, Floats::Load(in + done * kFloat));
  }
  if (done == count) return;
  uint8_t values[Floats::kWidth * kFloat] = {};
  uint8_t rest[Floats::kWidth * Element::kBytes];
  const auto left = static_cast<size_t>(count - done);
  std::memcpy(values, in + done * kFloat, left * kFloat);
  Element::Store(rest, Floats::Load(values));
  std::memcpy(target + done * Element::kBytes, rest, left * Element::kBytes);
}
