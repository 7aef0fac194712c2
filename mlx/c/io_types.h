// Byte streams of the program, and the content of GGUF files.
#ifndef MLX_C_IO_TYPES_H
#define MLX_C_IO_TYPES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "mlx/c/api.h"
#include "mlx/c/array.h"
#include "mlx/c/string.h"
#include "mlx/c/vector.h"

#ifdef __cplusplus
extern "C" {
#endif

/// A source of bytes.
typedef struct mlx_io_reader_ {
  void* ctx;
} mlx_io_reader;

/// A destination of bytes.
typedef struct mlx_io_writer_ {
  void* ctx;
} mlx_io_writer;

/// The functions of a stream, each with the program's pointer as first argument. `good` tells
/// whether the last read or write succeeded; `whence` is SEEK_SET, SEEK_CUR or SEEK_END; `free` is
/// called at the end. Readers need no `write`, and writers no `read`.
typedef struct mlx_io_vtable_ {
  bool (*is_open)(void*);
  bool (*good)(void*);
  size_t (*tell)(void*);
  void (*seek)(void*, int64_t off, int whence);
  void (*read)(void*, char* data, size_t n);
  void (*read_at_offset)(void*, char* data, size_t n, size_t off);
  void (*write)(void*, const char* data, size_t n);
  const char* (*label)(void*);
  void (*free)(void*);
} mlx_io_vtable;

/// A stream over the program's `desc`; its pointer; its label; frees the handle.
MLX_C_API mlx_io_reader mlx_io_reader_new(void* desc, mlx_io_vtable vtable);
MLX_C_API int mlx_io_reader_descriptor(void** desc_, mlx_io_reader io);
MLX_C_API int mlx_io_reader_tostring(mlx_string* str_, mlx_io_reader io);
MLX_C_API int mlx_io_reader_free(mlx_io_reader io);

/// The same for writing.
MLX_C_API mlx_io_writer mlx_io_writer_new(void* desc, mlx_io_vtable vtable);
MLX_C_API int mlx_io_writer_descriptor(void** desc_, mlx_io_writer io);
MLX_C_API int mlx_io_writer_tostring(mlx_string* str_, mlx_io_writer io);
MLX_C_API int mlx_io_writer_free(mlx_io_writer io);

/// Arrays and metadata by name.
typedef struct mlx_io_gguf_ {
  void* ctx;
} mlx_io_gguf;

/// An empty object; frees it.
MLX_C_API mlx_io_gguf mlx_io_gguf_new(void);
MLX_C_API int mlx_io_gguf_free(mlx_io_gguf io);

/// The names of the arrays; an array, and a value of the metadata. A missing one is an error.
MLX_C_API int mlx_io_gguf_get_keys(mlx_vector_string* keys, mlx_io_gguf io);
MLX_C_API int mlx_io_gguf_get_array(mlx_array* arr, mlx_io_gguf io, const char* key);
MLX_C_API int mlx_io_gguf_get_metadata_array(mlx_array* arr, mlx_io_gguf io, const char* key);
MLX_C_API int mlx_io_gguf_get_metadata_string(mlx_string* str, mlx_io_gguf io, const char* key);
MLX_C_API int mlx_io_gguf_get_metadata_vector_string(mlx_vector_string* vstr, mlx_io_gguf io,
                                                     const char* key);

/// Whether there is a value of that type.
MLX_C_API int mlx_io_gguf_has_metadata_array(bool* flag, mlx_io_gguf io, const char* key);
MLX_C_API int mlx_io_gguf_has_metadata_string(bool* flag, mlx_io_gguf io, const char* key);
MLX_C_API int mlx_io_gguf_has_metadata_vector_string(bool* flag, mlx_io_gguf io, const char* key);

/// Adds or replaces an array, a value of the metadata.
MLX_C_API int mlx_io_gguf_set_array(mlx_io_gguf io, const char* key, const mlx_array arr);
MLX_C_API int mlx_io_gguf_set_metadata_array(mlx_io_gguf io, const char* key, const mlx_array marr);
MLX_C_API int mlx_io_gguf_set_metadata_string(mlx_io_gguf io, const char* key, const char* mstr);
MLX_C_API int mlx_io_gguf_set_metadata_vector_string(mlx_io_gguf io, const char* key,
                                                     const mlx_vector_string mvstr);

#ifdef __cplusplus
}
#endif

#endif  // MLX_C_IO_TYPES_H
