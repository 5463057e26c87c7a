// Structs of our making: any field may hold anything, and each struct remembers what happened to it.
//
// A struct stands in pages of its own, so that it can be made unwritable (an importer that writes to it faults) or end
// at a page that cannot be touched (an importer that reads past what it may read faults). Shape and strides end at such
// a page, the elements too. When the deleter has run everything but the deleter field is poisoned, so a late read is
// seen and a second deleter call is counted instead of being undefined.
#include <sys/mman.h>
#include <unistd.h>

#include <atomic>
#include <cstring>
#include <functional>
#include <map>
#include <mutex>
#include <thread>
#include <vector>

#include "lab.h"

namespace lab {
namespace {

constexpr uint8_t kPoison = 0xA5;
constexpr size_t kVersionedLead =
    24;  // version, manager_ctx, deleter: all that a consumer of another major version may need

size_t PageSize() {
  return static_cast<size_t>(sysconf(_SC_PAGESIZE));
}

size_t RoundUp(size_t bytes, size_t unit) {
  return (bytes + unit - 1) / unit * unit;
}

// Pages with an untouchable page at both ends.
struct Area {
  uint8_t* base = nullptr;  // of the usable part
  size_t bytes = 0;

  bool Map(size_t wanted) {
    const size_t page = PageSize();
    bytes = RoundUp(wanted == 0 ? 1 : wanted, page);
    void* mapped = mmap(nullptr, bytes + 2 * page, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (mapped == MAP_FAILED) return false;
    base = static_cast<uint8_t*>(mapped) + page;
    return mprotect(base, bytes, PROT_READ | PROT_WRITE) == 0;
  }
  void Protect(int protection) { mprotect(base, bytes, protection); }
  void Unmap() {
    if (base != nullptr) munmap(base - PageSize(), bytes + 2 * PageSize());
    base = nullptr;
  }
  uint8_t* end() const { return base + bytes; }
};

struct Record {
  bool versioned = true;
  uint8_t* managed = nullptr;
  size_t readable = 0;  // bytes of the struct that may be touched
  Area frame;           // struct, shape, strides
  Area elements;
  uint8_t* data = nullptr;
  size_t data_bytes = 0;
  std::vector<uint8_t> picture;  // the frame as it was made
  bool unchanged = true;         // judged when the deleter runs
  std::atomic<int> deleter_calls{0};
  std::atomic<size_t> deleter_thread{0};
};

struct Table {
  std::mutex mutex;
  std::map<uint32_t, Record*> by_id;
  std::map<const void*, Record*> by_struct;
  uint32_t next_id = 1;
  std::atomic<int> stray_calls{0};
};

Table& TheTable() {
  static Table* table = new Table;  // never destroyed: threads may outlive every destructor
  return *table;
}

size_t ThisThread() {
  return std::hash<std::thread::id>{}(std::this_thread::get_id());
}

void DeleteRecordOf(const void* managed, size_t deleter_offset) {
  Table& table = TheTable();
  const std::lock_guard<std::mutex> lock(table.mutex);
  const auto found = table.by_struct.find(managed);
  if (found == table.by_struct.end()) {
    table.stray_calls.fetch_add(1);
    return;
  }
  Record& record = *found->second;
  if (record.deleter_calls.fetch_add(1) != 0) return;
  record.deleter_thread.store(ThisThread());
  record.unchanged = std::memcmp(record.frame.base, record.picture.data(), record.picture.size()) == 0;
  record.frame.Protect(PROT_READ | PROT_WRITE);
  uint8_t deleter[sizeof(void*)];
  std::memcpy(deleter, record.managed + deleter_offset, sizeof deleter);
  std::memset(record.frame.base, kPoison, record.frame.bytes);
  std::memcpy(record.managed + deleter_offset, deleter, sizeof deleter);
  if (record.elements.base != nullptr) {
    record.elements.Protect(PROT_READ | PROT_WRITE);
    std::memset(record.elements.base, kPoison, record.elements.bytes);
  }
}

void LegacyDeleter(DLManagedTensor* self) {
  DeleteRecordOf(self, offsetof(DLManagedTensor, deleter));
}
void VersionedDeleter(DLManagedTensorVersioned* self) {
  DeleteRecordOf(self, offsetof(DLManagedTensorVersioned, deleter));
}

bool Has(const Napi::Object& spec, const char* key) {
  return !spec.Get(key).IsUndefined();
}
uint64_t Number(const Napi::Object& spec, const char* key, uint64_t otherwise) {
  return Has(spec, key) ? Bits(spec.Get(key)) : otherwise;
}
bool Flag(const Napi::Object& spec, const char* key, bool otherwise) {
  return Has(spec, key) ? spec.Get(key).ToBoolean().Value() : otherwise;
}

std::vector<int64_t> Numbers(const Napi::Value& value) {
  std::vector<int64_t> numbers;
  if (!value.IsArray()) return numbers;
  const Napi::Array array = value.As<Napi::Array>();
  for (uint32_t index = 0; index < array.Length(); index += 1) {
    numbers.push_back(static_cast<int64_t>(Bits(array.Get(index))));
  }
  return numbers;
}

// Copies the numbers so that they end right before `*end`, which moves down.
int64_t* Place(const std::vector<int64_t>& numbers, uint8_t** end) {
  *end -= numbers.size() * sizeof(int64_t);
  if (!numbers.empty()) std::memcpy(*end, numbers.data(), numbers.size() * sizeof(int64_t));
  return reinterpret_cast<int64_t*>(*end);
}

// The elements: `bytes` long, at an address that is `misalign` past a multiple of 64, ending as near to the untouchable
// page as that allows.
bool PlaceElements(const Napi::Object& spec, Record* record) {
  const Napi::Value content = spec.Get("bytes");
  if (!content.IsTypedArray()) return true;
  const Napi::Uint8Array bytes = content.As<Napi::Uint8Array>();
  const size_t misalign = Number(spec, "misalign", 0);
  record->data_bytes = bytes.ByteLength();
  if (!record->elements.Map(record->data_bytes + misalign + 64)) return false;
  const uintptr_t highest = reinterpret_cast<uintptr_t>(record->elements.end()) - record->data_bytes - misalign;
  record->data = reinterpret_cast<uint8_t*>((highest & ~uintptr_t{63}) + misalign);
  std::memset(record->elements.base, 0xEE, record->elements.bytes);
  if (record->data_bytes != 0) std::memcpy(record->data, bytes.Data(), record->data_bytes);
  if (Flag(spec, "readOnlyPages", false)) record->elements.Protect(PROT_READ);
  return true;
}

DLTensor DescribeTensor(const Napi::Object& spec, const Record& record, int64_t* shape, int64_t* strides) {
  DLTensor tensor;
  std::memset(&tensor, 0, sizeof tensor);
  const Napi::Value data = spec.Get("data");
  if (data.IsBigInt()) {
    tensor.data = Pointer(data);
  } else if (!data.IsNull() && record.data != nullptr) {
    tensor.data = record.data + static_cast<ptrdiff_t>(Number(spec, "dataShift", 0));
  }
  const std::vector<int64_t> device = Numbers(spec.Get("device"));
  const int32_t device_type = device.empty() ? kDLCPU : static_cast<int32_t>(device[0]);
  std::memcpy(&tensor.device.device_type, &device_type, sizeof device_type);  // any value, also none of the enumeration
  tensor.device.device_id = device.size() < 2 ? 0 : static_cast<int32_t>(device[1]);
  tensor.ndim = static_cast<int32_t>(Number(spec, "ndim", Numbers(spec.Get("shape")).size()));
  const std::vector<int64_t> dtype = Numbers(spec.Get("dtype"));
  tensor.dtype.code = static_cast<uint8_t>(dtype.empty() ? int64_t{kDLFloat} : dtype[0]);
  tensor.dtype.bits = static_cast<uint8_t>(dtype.size() > 1 ? dtype[1] : 32);
  tensor.dtype.lanes = static_cast<uint16_t>(dtype.size() > 2 ? dtype[2] : 1);
  tensor.shape = shape;
  tensor.strides = strides;
  tensor.byte_offset = Number(spec, "byteOffset", 0);
  return tensor;
}

void WriteStruct(const Napi::Object& spec, const DLTensor& tensor, Record* record) {
  void* context = Pointer(spec.Get("managerCtx"));
  const bool has_deleter = Flag(spec, "deleter", true);
  if (record->versioned) {
    DLManagedTensorVersioned managed;
    std::memset(&managed, 0, sizeof managed);
    managed.version.major = static_cast<uint32_t>(Number(spec, "major", DLPACK_MAJOR_VERSION));
    managed.version.minor = static_cast<uint32_t>(Number(spec, "minor", DLPACK_MINOR_VERSION));
    managed.manager_ctx = context;
    managed.deleter = has_deleter ? VersionedDeleter : nullptr;
    managed.flags = Number(spec, "flags", 0);
    managed.dl_tensor = tensor;
    std::memcpy(record->managed, &managed, record->readable);
  } else {
    DLManagedTensor managed;
    std::memset(&managed, 0, sizeof managed);
    managed.dl_tensor = tensor;
    managed.manager_ctx = context;
    managed.deleter = has_deleter ? LegacyDeleter : nullptr;
    std::memcpy(record->managed, &managed, record->readable);
  }
}

Record* FindRecord(uint32_t id) {
  Table& table = TheTable();
  const auto found = table.by_id.find(id);
  return found == table.by_id.end() ? nullptr : found->second;
}

}  // namespace

bool FindMade(uint32_t id, Made* out) {
  const std::lock_guard<std::mutex> lock(TheTable().mutex);
  const Record* record = FindRecord(id);
  if (record == nullptr) return false;
  *out = Made{record->managed, record->versioned};
  return true;
}

// makeStruct(spec) -> { id, address, data }. The fields of spec stand in test/support/lab.ts.
Napi::Value MakeStruct(const Napi::CallbackInfo& info) {
  const Napi::Env env = info.Env();
  const Napi::Object spec = info[0].As<Napi::Object>();
  Record* record = new Record;
  record->versioned = Flag(spec, "versioned", true);
  const size_t page = PageSize();
  const bool only_lead = record->versioned && Flag(spec, "onlyLeadReadable", false);
  // A struct of which only the lead may be touched ends its area: there is no room for shape and strides.
  const std::vector<int64_t> shape = only_lead ? std::vector<int64_t>{} : Numbers(spec.Get("shape"));
  const std::vector<int64_t> strides = only_lead ? std::vector<int64_t>{} : Numbers(spec.Get("strides"));
  const size_t size = record->versioned ? sizeof(DLManagedTensorVersioned) : sizeof(DLManagedTensor);
  const size_t numbers = (shape.size() + strides.size()) * sizeof(int64_t);
  if (!record->frame.Map(page + RoundUp(numbers + 1, page)) || !PlaceElements(spec, record)) {
    Napi::Error::New(env, "mmap failed").ThrowAsJavaScriptException();
    delete record;
    return env.Undefined();
  }
  std::memset(record->frame.base, 0xEE, record->frame.bytes);
  if (only_lead) {
    record->readable = kVersionedLead;
    record->managed = record->frame.end() - kVersionedLead;
  } else {
    record->readable = size;
    record->managed = record->frame.base;
  }
  uint8_t* end = record->frame.end();
  int64_t* strides_at = strides.empty() && !spec.Get("strides").IsArray() ? nullptr : Place(strides, &end);
  int64_t* shape_at = spec.Get("shape").IsNull() ? nullptr : Place(shape, &end);
  // An empty array points at the untouchable page: reading even one number of it faults.
  WriteStruct(spec, DescribeTensor(spec, *record, shape_at, strides_at), record);
  record->picture.assign(record->frame.base, record->frame.end());
  if (Flag(spec, "readOnlyStruct", false)) record->frame.Protect(PROT_READ);

  Table& table = TheTable();
  uint32_t id = 0;
  {
    const std::lock_guard<std::mutex> lock(table.mutex);
    id = table.next_id++;
    table.by_id[id] = record;
    table.by_struct[record->managed] = record;
  }
  Napi::Object result = Napi::Object::New(env);
  result.Set("id", Napi::Number::New(env, id));
  result.Set("address", Address(env, record->managed));
  result.Set("data", Address(env, record->data));
  return result;
}

// structState(id) -> { deleterCalls, deletedOnThisThread, unchanged }. `unchanged`: no byte of struct, shape or strides
// was written by anyone.
Napi::Value StructState(const Napi::CallbackInfo& info) {
  const Napi::Env env = info.Env();
  const std::lock_guard<std::mutex> lock(TheTable().mutex);
  const Record* record = FindRecord(info[0].As<Napi::Number>().Uint32Value());
  if (record == nullptr) return env.Undefined();
  const int calls = record->deleter_calls.load();
  const bool unchanged = calls != 0
                             ? record->unchanged
                             : std::memcmp(record->frame.base, record->picture.data(), record->picture.size()) == 0;
  Napi::Object result = Napi::Object::New(env);
  result.Set("deleterCalls", Napi::Number::New(env, calls));
  result.Set("deletedOnThisThread", Napi::Boolean::New(env, record->deleter_thread.load() == ThisThread()));
  result.Set("unchanged", Napi::Boolean::New(env, unchanged));
  return result;
}

// forgetStruct(id): frees what the record keeps. A struct that somebody still holds must not be forgotten.
Napi::Value ForgetStruct(const Napi::CallbackInfo& info) {
  Table& table = TheTable();
  const std::lock_guard<std::mutex> lock(table.mutex);
  const uint32_t id = info[0].As<Napi::Number>().Uint32Value();
  Record* record = FindRecord(id);
  if (record != nullptr) {
    table.by_id.erase(id);
    table.by_struct.erase(record->managed);
    record->frame.Unmap();
    record->elements.Unmap();
    delete record;
  }
  return info.Env().Undefined();
}

// strayDeleterCalls() -> calls of our deleters with a struct that is not (or no longer) ours.
Napi::Value StrayDeleterCalls(const Napi::CallbackInfo& info) {
  return Napi::Number::New(info.Env(), TheTable().stray_calls.load());
}

}  // namespace lab
