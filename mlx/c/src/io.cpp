// Files and byte streams of the C interface.
#include "mlx/c/io.h"

#include <cstdio>

#include "mlx/c/io_types.h"
#include "mlx/c/src/convert.h"
#include "mlx/c/src/handles.h"

namespace mlx::c {

namespace {

int whence(std::ios_base::seekdir from) {
  return from == std::ios_base::beg ? SEEK_SET : from == std::ios_base::cur ? SEEK_CUR : SEEK_END;
}

/// The program's functions over its pointer. Missing ones that have an answer without them have it.
class Stream {
 public:
  Stream(void* desc, const mlx_io_vtable& vtable, const char* name)
      : desc_(desc), vtable_(vtable), name_(name) {}
  ~Stream() {
    if (vtable_.free) vtable_.free(desc_);
  }
  Stream(const Stream&) = delete;

  void* descriptor() const { return desc_; }
  bool is_open() const { return !vtable_.is_open || vtable_.is_open(desc_); }
  bool good() const { return !vtable_.good || vtable_.good(desc_); }
  size_t tell() const { return need(vtable_.tell, "tell")(desc_); }
  void seek(int64_t offset, std::ios_base::seekdir from) const {
    need(vtable_.seek, "seek")(desc_, offset, whence(from));
  }
  std::string label() const {
    const char* text = vtable_.label ? vtable_.label(desc_) : nullptr;
    return text ? text : "a stream of the program";
  }
  void read(char* data, size_t n) const { need(vtable_.read, "read")(desc_, data, n); }
  void read(char* data, size_t n, size_t offset) const {
    need(vtable_.read_at_offset, "read_at_offset")(desc_, data, n, offset);
  }
  void write(const char* data, size_t n) const { need(vtable_.write, "write")(desc_, data, n); }

 private:
  template <class F>
  F need(F function, const char* member) const {
    if (!function)
      core::fail<core::ValueError>(name_, "a stream without the function ", member,
                                   "; one with it is accepted");
    return function;
  }
  void* desc_;
  mlx_io_vtable vtable_;
  const char* name_;
};

class ProgramReader final : public core::io::Reader {
 public:
  ProgramReader(void* desc, const mlx_io_vtable& vtable) : stream(desc, vtable, "mlx_io_reader") {}
  bool is_open() const override { return stream.is_open(); }
  bool good() const override { return stream.good(); }
  size_t tell() override { return stream.tell(); }
  void seek(int64_t offset, std::ios_base::seekdir from) override { stream.seek(offset, from); }
  void read(char* data, size_t n) override { stream.read(data, n); }
  void read(char* data, size_t n, size_t offset) override { stream.read(data, n, offset); }
  std::string label() const override { return stream.label(); }
  const Stream stream;
};

class ProgramWriter final : public core::io::Writer {
 public:
  ProgramWriter(void* desc, const mlx_io_vtable& vtable) : stream(desc, vtable, "mlx_io_writer") {}
  bool is_open() const override { return stream.is_open(); }
  bool good() const override { return stream.good(); }
  size_t tell() override { return stream.tell(); }
  void seek(int64_t offset, std::ios_base::seekdir from) override { stream.seek(offset, from); }
  void write(const char* data, size_t n) override { stream.write(data, n); }
  std::string label() const override { return stream.label(); }
  const Stream stream;
};

/// All readers and writers of handles are the program's.
const Stream& stream_of(mlx_io_reader io) {
  return static_cast<const ProgramReader&>(*get(io)).stream;
}
const Stream& stream_of(mlx_io_writer io) {
  return static_cast<const ProgramWriter&>(*get(io)).stream;
}

template <class T>
void pointer_out(T* to, T value) {
  if (!to) core::fail<core::ValueError>("mlx_io", "no place for a result");
  *to = value;
}

void safetensors_out(mlx_map_string_to_array* arrays, mlx_map_string_to_string* metadata,
                     core::SafetensorsLoad found) {
  assign(arrays, std::move(found.first));
  assign(metadata, std::move(found.second));
}

/// A value of the metadata of that type; null where there is none.
template <class T>
const T* metadata(mlx_io_gguf io, const char* key) {
  auto& values = get(io).second;
  auto it = values.find(in(key));
  return it == values.end() ? nullptr : std::get_if<T>(&it->second);
}
template <class T>
const T& need_metadata(mlx_io_gguf io, const char* key, const char* kind) {
  if (const T* value = metadata<T>(io, key)) return *value;
  core::fail<core::ValueError>("mlx_io_gguf", "no metadata ", key, " that is ", kind);
}

using Strings = std::vector<std::string>;

}  // namespace

}  // namespace mlx::c

using namespace mlx::c;
namespace core = mlx::core;

extern "C" {

mlx_io_reader mlx_io_reader_new(void* desc, mlx_io_vtable vtable) {
  return result(__func__, mlx_io_reader{},
                [&] { return make<mlx_io_reader>(std::make_shared<ProgramReader>(desc, vtable)); });
}
int mlx_io_reader_descriptor(void** desc_, mlx_io_reader io) {
  return status(__func__, [&] { pointer_out(desc_, stream_of(io).descriptor()); });
}
int mlx_io_reader_tostring(mlx_string* str_, mlx_io_reader io) {
  return status(__func__, [&] { assign(str_, get(io)->label()); });
}
int mlx_io_reader_free(mlx_io_reader io) {
  return status(__func__, [&] { drop(io); });
}
mlx_io_writer mlx_io_writer_new(void* desc, mlx_io_vtable vtable) {
  return result(__func__, mlx_io_writer{},
                [&] { return make<mlx_io_writer>(std::make_shared<ProgramWriter>(desc, vtable)); });
}
int mlx_io_writer_descriptor(void** desc_, mlx_io_writer io) {
  return status(__func__, [&] { pointer_out(desc_, stream_of(io).descriptor()); });
}
int mlx_io_writer_tostring(mlx_string* str_, mlx_io_writer io) {
  return status(__func__, [&] { assign(str_, get(io)->label()); });
}
int mlx_io_writer_free(mlx_io_writer io) {
  return status(__func__, [&] { drop(io); });
}

int mlx_load_reader(mlx_array* res, mlx_io_reader in_stream, const mlx_stream s) {
  return status(__func__, [&] { out(res, core::load(get(in_stream), in(s))); });
}
int mlx_load(mlx_array* res, const char* file, const mlx_stream s) {
  return status(__func__, [&] { out(res, core::load(in(file), in(s))); });
}
int mlx_save_writer(mlx_io_writer out_stream, const mlx_array a) {
  return status(__func__, [&] { core::save(get(out_stream), in(a)); });
}
int mlx_save(const char* file, const mlx_array a) {
  return status(__func__, [&] { core::save(in(file), in(a)); });
}
int mlx_load_gguf(mlx_io_gguf* gguf, const char* file, const mlx_stream s) {
  return status(__func__, [&] { assign(gguf, core::load_gguf(in(file), in(s))); });
}
int mlx_save_gguf(const char* file, mlx_io_gguf gguf) {
  return status(__func__, [&] { core::save_gguf(in(file), get(gguf).first, get(gguf).second); });
}
int mlx_load_safetensors_reader(mlx_map_string_to_array* res_0, mlx_map_string_to_string* res_1,
                                mlx_io_reader in_stream, const mlx_stream s) {
  return status(__func__, [&] {
    safetensors_out(res_0, res_1, core::load_safetensors(get(in_stream), in(s)));
  });
}
int mlx_load_safetensors(mlx_map_string_to_array* res_0, mlx_map_string_to_string* res_1,
                         const char* file, const mlx_stream s) {
  return status(__func__,
                [&] { safetensors_out(res_0, res_1, core::load_safetensors(in(file), in(s))); });
}
int mlx_save_safetensors_writer(mlx_io_writer in_stream, const mlx_map_string_to_array param,
                                const mlx_map_string_to_string metadata) {
  return status(__func__,
                [&] { core::save_safetensors(get(in_stream), get(param), get(metadata)); });
}
int mlx_save_safetensors(const char* file, const mlx_map_string_to_array param,
                         const mlx_map_string_to_string metadata) {
  return status(__func__, [&] { core::save_safetensors(in(file), get(param), get(metadata)); });
}

mlx_io_gguf mlx_io_gguf_new(void) {
  return result(__func__, mlx_io_gguf{}, [] { return make<mlx_io_gguf>({}); });
}
int mlx_io_gguf_free(mlx_io_gguf io) {
  return status(__func__, [&] { drop(io); });
}
int mlx_io_gguf_get_keys(mlx_vector_string* keys, mlx_io_gguf io) {
  return status(__func__, [&] {
    Strings names;
    for (auto& [name, a] : get(io).first) names.push_back(name);
    assign(keys, std::move(names));
  });
}
int mlx_io_gguf_get_array(mlx_array* arr, mlx_io_gguf io, const char* key) {
  return status(__func__, [&] {
    auto& arrays = get(io).first;
    auto it = arrays.find(in(key));
    if (it == arrays.end()) core::fail<core::ValueError>("mlx_io_gguf", "no array ", key);
    out(arr, it->second);
  });
}
int mlx_io_gguf_get_metadata_array(mlx_array* arr, mlx_io_gguf io, const char* key) {
  return status(__func__, [&] { out(arr, need_metadata<array>(io, key, "an array")); });
}
int mlx_io_gguf_get_metadata_string(mlx_string* str, mlx_io_gguf io, const char* key) {
  return status(__func__,
                [&] { assign(str, std::string(need_metadata<std::string>(io, key, "a string"))); });
}
int mlx_io_gguf_get_metadata_vector_string(mlx_vector_string* vstr, mlx_io_gguf io,
                                           const char* key) {
  return status(__func__, [&] {
    assign(vstr, Strings(need_metadata<Strings>(io, key, "a list of strings")));
  });
}
int mlx_io_gguf_has_metadata_array(bool* flag, mlx_io_gguf io, const char* key) {
  return status(__func__, [&] { out(flag, metadata<array>(io, key) != nullptr); });
}
int mlx_io_gguf_has_metadata_string(bool* flag, mlx_io_gguf io, const char* key) {
  return status(__func__, [&] { out(flag, metadata<std::string>(io, key) != nullptr); });
}
int mlx_io_gguf_has_metadata_vector_string(bool* flag, mlx_io_gguf io, const char* key) {
  return status(__func__, [&] { out(flag, metadata<Strings>(io, key) != nullptr); });
}
int mlx_io_gguf_set_array(mlx_io_gguf io, const char* key, const mlx_array arr) {
  return status(__func__, [&] { get(io).first.insert_or_assign(in(key), in(arr)); });
}
int mlx_io_gguf_set_metadata_array(mlx_io_gguf io, const char* key, const mlx_array marr) {
  return status(__func__, [&] { get(io).second.insert_or_assign(in(key), in(marr)); });
}
int mlx_io_gguf_set_metadata_string(mlx_io_gguf io, const char* key, const char* mstr) {
  return status(__func__, [&] { get(io).second.insert_or_assign(in(key), in(mstr)); });
}
int mlx_io_gguf_set_metadata_vector_string(mlx_io_gguf io, const char* key,
                                           const mlx_vector_string mvstr) {
  return status(__func__, [&] { get(io).second.insert_or_assign(in(key), get(mvstr)); });
}

}  // extern "C"
