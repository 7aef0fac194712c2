// Arrays in files: safetensors and GGUF, written and read again. The first argument is a folder.
#include <stdio.h>
#include <string.h>

#include "mlx/c/mlx.h"

static mlx_stream s;

static int safetensors(const char* folder, mlx_array weights) {
  char path[1000];
  snprintf(path, sizeof path, "%s/model.safetensors", folder);
  mlx_map_string_to_array arrays = mlx_map_string_to_array_new();
  mlx_map_string_to_string notes = mlx_map_string_to_string_new();
  mlx_map_string_to_array_insert(arrays, "weights", weights);
  mlx_map_string_to_string_insert(notes, "format", "mlx");
  int failed = mlx_save_safetensors(path, arrays, notes);

  mlx_map_string_to_array found = mlx_map_string_to_array_new();
  mlx_map_string_to_string found_notes = mlx_map_string_to_string_new();
  failed = failed || mlx_load_safetensors(&found, &found_notes, path, s);
  mlx_map_string_to_array_iterator it = mlx_map_string_to_array_iterator_new(found);
  const char *key, *note = "";
  mlx_array value = mlx_array_new();
  while (!mlx_map_string_to_array_iterator_next(&key, &value, it))
    printf("safetensors: %s with %zu elements\n", key, mlx_array_size(value));
  failed = failed || mlx_map_string_to_string_get(&note, found_notes, "format");
  failed = failed || strcmp(note, "mlx") != 0 || mlx_array_size(value) != 6;

  mlx_array_free(value);
  mlx_map_string_to_array_iterator_free(it);
  mlx_map_string_to_array_free(arrays);
  mlx_map_string_to_string_free(notes);
  mlx_map_string_to_array_free(found);
  mlx_map_string_to_string_free(found_notes);
  return failed;
}

static int gguf(const char* folder, mlx_array weights) {
  char path[1000];
  snprintf(path, sizeof path, "%s/model.gguf", folder);
  mlx_io_gguf file = mlx_io_gguf_new();
  mlx_io_gguf_set_array(file, "weights", weights);
  mlx_io_gguf_set_metadata_string(file, "general.name", "line");
  int failed = mlx_save_gguf(path, file);

  mlx_io_gguf found = mlx_io_gguf_new();
  failed = failed || mlx_load_gguf(&found, path, s);
  mlx_vector_string keys = mlx_vector_string_new();
  mlx_string name = mlx_string_new();
  failed = failed || mlx_io_gguf_get_keys(&keys, found);
  failed = failed || mlx_io_gguf_get_metadata_string(&name, found, "general.name");
  char* key = "";
  failed = failed || mlx_vector_string_get(&key, keys, 0);
  if (!failed) printf("gguf: %s of the model %s\n", key, mlx_string_data(name));

  mlx_string_free(name);
  mlx_vector_string_free(keys);
  mlx_io_gguf_free(file);
  mlx_io_gguf_free(found);
  return failed;
}

int main(int argc, char** argv) {
  const char* folder = argc > 1 ? argv[1] : ".";
  s = mlx_default_cpu_stream_new();
  mlx_array weights = mlx_array_new();
  mlx_arange(&weights, 0, 6, 1, MLX_FLOAT32, s);
  int failed = safetensors(folder, weights) || gguf(folder, weights);
  mlx_array_free(weights);
  mlx_stream_free(s);
  return failed;
}
